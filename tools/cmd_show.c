/* show: the typed program before, between and after the passes. */
#include "commands.h"
#include "json.h"
#include "settings.h"

#include <string.h>

static int list_passes(void)
{
    for (int i = 0; tw_pass_name(i); i++)
        printf("%-12s %s\n", tw_pass_name(i), tw_pass_summary(i));
    return STATUS_OK;
}

static bool is_pass(const char *name)
{
    const char *names[64] = {0};
    for (int i = 0; i < 63 && tw_pass_name(i); i++) {
        names[i] = tw_pass_name(i);
        if (strcmp(names[i], name) == 0)
            return true;
    }
    if (strcmp(name, "check") == 0)
        return true;
    const char *near = closest_name(name, names);
    complain(NULL, "no pass is called '%s'%s%s%s", name, near ? "; did you mean '" : "",
             near ? near : "", near ? "'?" : "; `tilewright show --passes` lists them");
    return false;
}

static int show_kernel(const struct program *p, tw_kernel *k, const struct options *given)
{
    tw_launch *l;
    const char *text = NULL;
    tw_status s = tw_launch_new(k, &l);
    if (s != TW_OK) {
        complain_library(NULL, p->ctx, s);
        return STATUS_FAILED;
    }
    int status = apply_settings(l, k, p, given, false);
    if (status != STATUS_OK)
        return status;
    s = tw_launch_show(l, options_value(given, "after"), &text);
    if (s != TW_OK || *tw_context_messages(p->ctx))
        complain_library(NULL, p->ctx, s);
    if (s != TW_OK)
        return STATUS_USAGE;
    size_t length = strlen(text);
    fputs(text, stdout);
    if (length && text[length - 1] != '\n')
        putchar('\n');
    return STATUS_OK;
}

static int show_run(const struct command *self, const struct options *given)
{
    if (options_has(given, "passes"))
        return list_passes();
    if (given->word_count != 1)
        return usage_error(NULL, self, given->word_count ? "one FILE at a time" : "which FILE?");
    const char *after = options_value(given, "after");
    if (after && !is_pass(after))
        return STATUS_USAGE;
    struct program p;
    int status =
        program_open(&p, given->words[0], &(struct program_config){.colour = on_terminal(stderr)});
    if (status == STATUS_OK) {
        tw_kernel *k = program_kernel(&p, self);
        status = k ? show_kernel(&p, k, given) : STATUS_USAGE;
    }
    program_close(&p);
    return status;
}

static const struct option_spec show_options[] = {
    {.name = "after",
     .values = 1,
     .value = "PASS",
     .help = "stop after that pass; `check` is before any (default: after all)"},
    {.name = "passes", .help = "list the passes, in order"},
    OPTION_SET,
    OPTION_TUNE,
    OPTION_TYPE,
    OPTION_END,
};

const struct command command_show = {
    .name = "show",
    .arguments = "FILE[:KERNEL] [OPTIONS]",
    .summary = "the typed program after any pass, as text that compiles again",
    .about =
        "Prints the kernel as the compiler sees it, for one choice of tuned values, types and\n"
        "static parameters. What is printed is a program of the language: it can be saved, edited\n"
        "and compiled again.",
    .options = show_options,
    .examples =
        "  tilewright show kernels/matmul/shared.tile\n"
        "  tilewright show kernels/matmul/auto.tile --after plan --set n=256,k=256 --type f16\n"
        "  tilewright show --passes\n",
    .run = show_run,
};
