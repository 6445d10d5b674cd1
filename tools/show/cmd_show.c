/* Command show: prints the typed program before, between and after the passes; layouts and PTX
 * for a GPU. */
#include "cli/chosen.h"
#include "cli/commands.h"
#include "cli/device_asked.h"
#include "cli/json.h"
#include "cli/settings.h"
#include "show/show_family.h"
#include "show/show_json.h"
#include "show/show_kernels.h"
#include "cli/time_limit.h"
#include "cli/watch.h"
#include "tilewright_look.h"

#include <stdlib.h>
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

static const char *const stages[] = {"tile", "layout", "thread", "ptx", NULL};
enum { STAGE_TILE, STAGE_LAYOUT, STAGE_THREAD, STAGE_PTX };
static const tw_stage stage_of[] = {
    [STAGE_LAYOUT] = TW_STAGE_LAYOUT, [STAGE_THREAD] = TW_STAGE_THREAD, [STAGE_PTX] = TW_STAGE_PTX};

/* Returns the stage that --stage names; -1 after printing a message. */
static int stage_asked(const struct command *self, const struct options *given)
{
    const char *name = options_value(given, "stage");
    for (int i = 0; stages[i]; i++)
        if (!name ? i == STAGE_TILE : strcmp(stages[i], name) == 0)
            return i;
    const char *near = closest_name(name, stages);
    usage_error(NULL, self, "--stage %s: tile, layout, thread or ptx%s%s%s", name,
                near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return -1;
}

/* Returns the kernel for the target, or NULL after printing a message. */
static tw_kernel *kernel_for_target(const struct program *p, tw_kernel *k, const char *target)
{
    tw_kernel *found = NULL;
    tw_status s = tw_kernel_for_target(k, target, &found);
    if (s != TW_OK)
        complain_library(NULL, p->ctx, s);
    return found;
}

/* Prints the requested parts as JSON; sets *s to the library's status. */
static void show_json(tw_launch *l, const tw_kernel *k, const struct options *given, int stage,
                      tw_status *s)
{
    if (stage == STAGE_LAYOUT)
        *s = show_json_layouts(l);
    else if (stage == STAGE_PTX)
        *s = show_json_ptx(l);
    else
        *s = show_json_passes(l, k, options_value(given, "after"));
}

static void show_text(tw_launch *l, const struct options *given, int stage, tw_status *s)
{
    const char *text = NULL;
    *s = stage == STAGE_TILE ? tw_launch_show(l, options_value(given, "after"), &text)
                             : tw_launch_show_stage(l, stage_of[stage], &text);
    size_t length = text ? strlen(text) : 0;
    print_output(stdout, text ? text : "", length);
    if (length && text[length - 1] != '\n')
        putchar('\n');
}

/* Says why the pass `pipeline` has changed nothing: the program is for the CPU, or has no such
 * loop. */
static void say_no_stages(tw_launch *l, tw_kernel *k, const struct options *given)
{
    const char *after = options_value(given, "after"), *text = NULL, *word;
    bool is_cpu = strcmp(tw_kernel_target(k), "cpu") == 0;
    if (!after || strcmp(after, "pipeline") != 0 || tw_launch_show(l, "check", &text) != TW_OK)
        return;
    word = strstr(text, "pipeline(");
    if (!word)
        complain(NULL, "`%s` has no loop with pipeline(n), so this pass changes nothing",
                 tw_kernel_name(k));
    else if (is_cpu)
        complain(NULL, "a CPU runs the loop as it is written, without stages, so this pass changes "
                       "nothing; what a GPU gets: --device sm_80");
}

static int show_kernel(const struct program *p, tw_kernel *k, const struct options *given,
                       int stage, const struct chosen *c)
{
    tw_launch *l;
    tw_status s = tw_launch_new(k, &l);
    if (s != TW_OK) {
        complain_library(NULL, p->ctx, s);
        return STATUS_FAILED;
    }
    int status = chosen_apply(c, p, l);
    if (status == STATUS_OK)
        status = apply_settings(l, k, p, given, c->variant != NULL);
    if (status != STATUS_OK)
        return status;
    char *text = c->variant ? chosen_text(c) : NULL;
    if (text && !options_has(given, "json"))
        print_text(stdout, "// chosen: %s\n", text);
    free(text);
    if (options_has(given, "json"))
        show_json(l, k, given, stage, &s);
    else
        show_text(l, given, stage, &s);
    if (s == TW_OK && !options_has(given, "json"))
        say_no_stages(l, k, given);
    if (s != TW_OK || *tw_context_messages(p->ctx))
        complain_library(NULL, p->ctx, s);
    return s == TW_OK ? STATUS_OK : STATUS_USAGE;
}

/* Chooses a kernel of the family for the sizes of --set. */
static int choose(struct program *p, const struct options *given, const char *target,
                  const struct device_asked *device, struct chosen *c)
{
    tw_launch *l = NULL;
    int status = chosen_begin(c, p, given, target, device_asked_model(device));
    tw_status s = status == STATUS_OK ? tw_launch_new(c->any, &l) : TW_OK;
    if (s != TW_OK) {
        complain_library(NULL, p->ctx, s);
        return STATUS_FAILED;
    }
    if (status == STATUS_OK)
        status = apply_settings(l, c->any, p, given, true);
    if (status == STATUS_OK)
        status = chosen_take(c, p, l);
    tw_launch_free(l);
    tw_kernel *k = status == STATUS_OK ? program_kernel(p, given->command) : NULL;
    return k ? chosen_has_tuned(c, p, given, k) : status;
}

static int show_program(struct program *p, const struct options *given, const char *target,
                        const struct device_asked *device, int stage)
{
    struct chosen c = {0};
    const char *place = target ? target : stage == STAGE_TILE ? "cpu" : "sim";
    int status =
        program_is_family(p) ? choose(p, given, place, device, &c) : chosen_refuse(p, given);
    tw_kernel *k = status == STATUS_OK ? program_kernel(p, given->command) : NULL;
    k = k ? kernel_for_target(p, k, place) : NULL;
    status = k ? show_kernel(p, k, given, stage, &c) : STATUS_USAGE;
    chosen_free(&c);
    return status;
}

/* Shows the kernels of a PTX or CUDA C file; they have no stages. */
static int show_ptx(const struct command *self, const struct options *given,
                    const struct program_config *config)
{
    struct ptx_file f = {0};
    if (!options_has(given, "kernels"))
        return usage_error(NULL, self,
                           "%s is %s: --kernels lists its kernels; `tilewright check`, `run` and "
                           "`explain` take it",
                           given->words[0],
                           file_ending_in(given->words[0], ".ptx") ? "PTX" : "CUDA C");
    int status = ptx_file_read(&f, given->words[0], given, config);
    if (status == STATUS_OK && options_has(given, "json"))
        show_ptx_kernels_json(&f);
    else if (status == STATUS_OK)
        show_ptx_kernels(&f);
    ptx_file_close(&f);
    return status;
}

/* Reads --device. Sets *target to the target to show (in `room`, or a word of `d`; NULL: not
 * given). Returns STATUS_OK, or another status after printing a message. */
static int read_target(struct device_asked *d, const struct options *given, int stage,
                       const char **target, char room[16])
{
    *target = NULL;
    if (device_asked_read(d, given) != STATUS_OK)
        return STATUS_USAGE;
    if (!d->place)
        return STATUS_OK;
    const char *called = target_called(d->place, room);
    *target = d->target ? d->target : called ? called : device_is(d, "sim") ? "sim" : d->place;
    if (stage != STAGE_TILE && strcmp(*target, "cpu") == 0)
        return usage_error(
            NULL, given->command,
            "--stage %s shows what a GPU gets: say --device sm_90, or leave --device cpu out",
            stages[stage]);
    bool known = device_is(d, "cpu") ? !d->target
                                     : (device_is(d, "sim") && !d->target) || names_gpu(*target);
    return known ? STATUS_OK
                 : device_refuse(d, given,
                                 "there are cpu, sm_80 and up, a GPU by its name (h100), sim, and "
                                 "cuda (the GPU that is here; cuda:1 the second)");
}

/* Returns whether an option asks for the program of one kernel. */
static bool asks_stage(const struct options *given)
{
    static const char *const of_kernel[] = {"stage", "after", "set", "tune", NULL};
    return options_any(given, of_kernel) != NULL;
}

static int show_run(const struct command *self, const struct options *given)
{
    static const char *const of_program[] = {"stage", "after",     "set", "tune",
                                             "type",  "same-bits", NULL};
    struct device_asked device;
    char room[16];
    if (options_has(given, "passes"))
        return list_passes();
    if (given->word_count != 1)
        return no_one_file(NULL, self, given->word_count);
    const char *after = options_value(given, "after"), *target;
    int stage = stage_asked(self, given);
    if (stage < 0 || (after && !is_pass(after)))
        return STATUS_USAGE;
    if (read_target(&device, given, stage, &target, room) != STATUS_OK)
        return STATUS_USAGE;
    if (options_has(given, "json") && stage == STAGE_THREAD)
        return usage_error(NULL, self, "--stage thread has no JSON: it is a text of thread IR");
    if (after && stage != STAGE_TILE)
        return usage_error(NULL, self, "--after PASS shows the program: it goes with --stage tile");
    if (options_has(given, "kernels") &&
        options_refuse(given, of_program, "the program of one kernel", "--kernels") != STATUS_OK)
        return STATUS_USAGE;
    struct program p;
    struct deadline deadline = {0};
    double seconds = 0;
    if (!time_limit_begin(given, &seconds, &deadline.at))
        return STATUS_USAGE;
    struct program_config config = {
        .colour = on_terminal(stderr), .device = device.place, .deadline = &deadline};
    if (is_ptx_file(given->words[0]))
        return show_ptx(self, given, &config);
    int status = program_open(&p, given->words[0], &config);
    if (status == STATUS_OK && options_has(given, "kernels")) {
        if (options_has(given, "json"))
            show_kernels_json(&p);
        else
            show_kernels(&p);
    } else if (status == STATUS_OK && program_is_family(&p) && !asks_stage(given)) {
        status = show_family_types(&p, given);
        if (status == STATUS_OK && options_has(given, "json"))
            show_family_json(&p);
        else if (status == STATUS_OK)
            show_family(&p, given);
    } else if (status == STATUS_OK) {
        status = show_program(&p, given, target, &device, stage);
    }
    program_close(&p);
    return status;
}

static const struct option_spec show_options[] = {
    {.name = "stage",
     .values = 1,
     .value = "STAGE",
     .help = "tile: the typed program (default); layout: the owner and place of each element, what "
             "each\n"
             "access costs; thread: thread IR, what one thread does; ptx: what is assembled"},
    {.name = "device",
     .values = 1,
     .value = "DEVICE",
     .help = "cpu (default), sm_80 … sm_121, a GPU by its name (h100), or cuda: the GPU that is\n"
             "here (layout, thread, ptx: sm_80); each target has its own tuned values"},
    {.name = "target", .values = 1, .now = "device"},
    {.name = "after",
     .values = 1,
     .value = "PASS",
     .help = "stop after that pass; `check` is before any (default: after all)"},
    {.name = "passes", .help = "list the passes, in order"},
    {.name = "kernels",
     .help = "list the file's kernels: parameters, tuned values, types; of PTX: parameters; with\n"
             "--json also the places of arrays in shared memory and of constants"},
    {.name = "json",
     .help =
         "the same as JSON: the program after each pass (or --after PASS) with the line of each\n"
         "statement, tiles element by element, PTX line by line with its place, --kernels"},
    OPTION_SET,
    OPTION_TUNE,
    OPTION_TYPE,
    OPTION_SAME_BITS,
    {.name = "time-limit",
     .values = 1,
     .value = "TIME",
     .help = "ends the command, whatever it is doing, status 1"},
    OPTION_IMPORT,
    OPTION_WATCH,
    OPTION_END,
};

const struct command command_show = {
    .name = "show",
    .arguments = "FILE[:KERNEL] [OPTIONS]",
    .summary = "the typed program after any pass, layouts, thread IR, PTX",
    .about =
        "Prints the kernel as the compiler sees it, for one choice of tuned values, types and\n"
        "static parameters (one that is needed and not given is a small number, which a warning\n"
        "names). The output is a program of the language: it can be saved, edited\n"
        "and compiled again. --stage layout, thread and ptx show the kernel as a GPU gets it, for\n"
        "the sizes of --set (divisibility by 16 changes the widths); no GPU is needed.\n"
        "If FILE is a family (docs/families.md), it lists the kernels, or with --set shows the "
        "chosen\none.\n"
        "If the target lacks something, the message lists tuned values that fit (status 2).",
    .options = show_options,
    .examples =
        "  tilewright show kernels/matmul/shared.tile\n"
        "  tilewright show kernels/matmul/auto.tile --after plan --set n=256,k=256 --type f16\n"
        "  tilewright show kernels/matmul/stages.tile --stage ptx --device sm_90 --type f16\n"
        "  tilewright show kernels/matmul/auto.tile --device sm_90 --after pipeline --type f16\n"
        "  tilewright show kernels/matmul/stages.tile --stage layout --type f16 --set "
        "m=512,n=512,k=512\n"
        "  tilewright show kernels/matmul/shared.tile --stage layout --type f16 --json\n"
        "  tilewright show kernels/matmul/stages.tile --kernels\n"
        "  tilewright show matmul\n"
        "  tilewright show --passes\n",
    .run = show_run,
};
