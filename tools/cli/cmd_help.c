/* Commands help [COMMAND] and version: print texts from the tables of the commands. */
#include "cli/commands.h"
#include "cli/help_forms.h"

#include <stdlib.h>
#include <string.h>

const char *const help_variables[][2] = {
    {"TILEWRIGHT_APP", "set for programs after `--`: settings of their libraries"},
    {"TILEWRIGHT_BLAS", "OpenBLAS, to compare with; empty: not with it"},
    {"TILEWRIGHT_BLIS", "BLIS, to compare with; empty: not with it"},
    {"TILEWRIGHT_CACHE", "folder of assembled kernels; empty: none"},
    {"TILEWRIGHT_CACHE_MIB", "its largest size in MiB (1024)"},
    {"TILEWRIGHT_CUBLAS", "libcublas, or its folder, to compare with"},
    {"TILEWRIGHT_CUDA_DRIVER", "NVIDIA's driver library"},
    {"TILEWRIGHT_LEARN", "file of the progress in `learn`"},
    {"TILEWRIGHT_ONEDNN", "oneDNN, to compare with; empty: not with it"},
    {"TILEWRIGHT_PATH", "folders of imported files, with ':' between them"},
    {"TILEWRIGHT_PLAY_URL", "address of the page, for links in reports"},
    {"TILEWRIGHT_PTXAS", "NVIDIA's assembler; empty: none"},
    {"TILEWRIGHT_SQLITE", "the SQLite library, for the store"},
    {"TILEWRIGHT_STORE", "file of tuned values"},
    {"BROWSER", "what `play` opens the page with"},
    {"CC", "C compiler of `build --object`"},
    {"TMPDIR", "where temporary files go"},
    {"NO_COLOR", "set: messages without colours"},
    {NULL, NULL},
};

const char help_statuses[] =
    "0 success; 1 a check failed, values are wrong, or what was begun failed; 2 bad usage, a "
    "program\nthat does not compile, or a file or GPU that is not there.\n";

void help_overview(FILE *out)
{
    fputs("tilewright: tile kernels, compiled and run\n\nusage: tilewright COMMAND [OPTIONS]\n\n",
          out);
    for (const struct command *const *c = command_list; *c; c++)
        fprintf(out, "  %-9s %s\n", (*c)->name, (*c)->summary);
    fputs("\n`tilewright help COMMAND` explains one, with examples.\n"
          "A FILE is a program of tile kernels, FILE:KERNEL one of them; `-` is standard input.\n"
          "\nStatus: ",
          out);
    fputs(help_statuses, out);
    fputs("\nEnvironment (docs/command-line.md has all of it):\n", out);
    for (int i = 0; help_variables[i][0]; i++)
        fprintf(out, "  %-23s %s\n", help_variables[i][0], help_variables[i][1]);
}

static void help_option(FILE *out, const struct option_spec *s)
{
    char left[64];
    snprintf(left, sizeof left, "%s%c%s--%s%s%s", s->letter ? "-" : "", s->letter ? s->letter : ' ',
             s->letter ? ", " : "   ", s->name, s->value ? " " : "", s->value ? s->value : "");
    fprintf(out, "  %-26s ", left);
    for (const char *line = s->help;;) {
        size_t length = strcspn(line, "\n");
        fprintf(out, "%.*s\n", (int)length, line);
        line += length;
        if (!*line++)
            break;
        fprintf(out, "  %-26s ", "");
    }
}

void help_command(FILE *out, const struct command *c)
{
    fprintf(out, "usage: tilewright %s%s%s\n\n%s\n", c->name, *c->arguments ? " " : "",
            c->arguments, c->about);
    if (c->options && c->options->name) {
        fputs("\nOptions:\n", out);
        for (const struct option_spec *s = c->options; s->name; s++)
            if (!*s->name)
                fprintf(out, "%s  %s:\n", s == c->options ? "" : "\n", s->help);
            else if (!s->elsewhere && !s->now)
                help_option(out, s);
    }
    if (c->examples)
        fprintf(out, "\nExamples:\n%s", c->examples);
}

static int run_form(const struct command *self, const struct options *given, const char *form)
{
    if (given->word_count)
        return usage_error(NULL, self, "--as is for all commands");
    if (help_form(stdout, form))
        return STATUS_OK;
    char *hint = name_hint(form, help_forms);
    int status = usage_error(NULL, self, "there is no help as '%s'%s", form, hint);
    free(hint);
    return status;
}

static int help_run(const struct command *self, const struct options *given)
{
    const char *form = options_value(given, "as");
    if (form)
        return run_form(self, given, form);
    if (given->word_count > 1)
        return usage_error(NULL, self, "one command at a time");
    if (given->word_count == 0) {
        help_overview(stdout);
        return STATUS_OK;
    }
    const struct command *c = command_find(given->words[0]);
    if (!c)
        return STATUS_USAGE;
    help_command(stdout, c);
    return STATUS_OK;
}

static int version_run(const struct command *self, const struct options *given)
{
    if (given->word_count)
        return usage_error(NULL, self, "version takes no arguments");
    printf("tilewright %s\n", tw_version());
    return STATUS_OK;
}

static const struct option_spec help_options[] = {
    {.name = "as",
     .values = 1,
     .value = "FORM",
     .help = "man: all of it as a manual page; bash, zsh: what completes words in that shell"},
    {.name = NULL},
};

const struct command command_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "this list, or all about a command",
    .about = "Lists the commands, or explains one.",
    .options = help_options,
    .examples = "  tilewright help run\n"
                "  tilewright help --as bash\n",
    .run = help_run,
};

const struct command command_version = {
    .name = "version",
    .arguments = "",
    .summary = "the version",
    .about = "Prints the version of the library.",
    .run = version_run,
};
