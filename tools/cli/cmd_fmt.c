/* Command fmt: formats programs in one style, by tw_text_format. */
#include "cli/commands.h"
#include "cli/line_diff.h"
#include "cli/part_file.h"
#include "tilewright_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct formatting {
    tw_context *ctx;
    bool check, diff;
    int changed; /* files not in the style */
};

/* Writes the text to the file, whole or not at all. */
static int write_back(const char *path, const char *text, size_t length)
{
    struct part_file p = part_file_open(path, "w");
    bool good = p.file && fwrite(text, 1, length, p.file) == length;
    if (part_file_close(&p, good))
        return STATUS_OK;
    complain(NULL, "%s cannot be written: %s", path, strerror(errno));
    return STATUS_FAILED;
}

static int use_text(struct formatting *f, const char *path, const char *old, const char *new,
                    size_t length)
{
    bool pipe = strcmp(path, STANDARD_INPUT) == 0, same = strcmp(old, new) == 0;
    const char *name = pipe ? "-" : path;
    f->changed += !same;
    if (f->diff)
        print_diff(stdout, name, old, new);
    else if (f->check && !same)
        print_text(stdout, "%s\n", name);
    if (f->check || f->diff)
        return STATUS_OK;
    if (pipe) {
        print_output(stdout, new, length);
        return STATUS_OK;
    }
    if (same)
        return STATUS_OK;
    print_text(stdout, "%s\n", path);
    return write_back(path, new, length);
}

static int format_file(struct formatting *f, const char *word)
{
    const char *path = strcmp(word, "-") == 0 ? STANDARD_INPUT : word, *new;
    size_t length, new_length;
    char *old = read_whole_file(path, &length);
    if (!old) {
        complain(NULL, "%s cannot be read: %s", word, strerror(errno));
        return STATUS_USAGE;
    }
    int status = STATUS_USAGE;
    tw_status s = tw_text_format(f->ctx, word, old, length, &new, &new_length);
    if (s == TW_OK)
        status = use_text(f, path, old, new, new_length);
    else
        complain_library(NULL, f->ctx, s);
    free(old);
    return status;
}

static int fmt_run(const struct command *self, const struct options *given)
{
    struct formatting f = {.check = options_has(given, "check"),
                           .diff = options_has(given, "diff")};
    if (given->word_count == 0)
        return usage_error(NULL, self, "which FILE?");
    tw_config config = {.size = sizeof config, .colour = on_terminal(stderr)};
    tw_status s = tw_context_new(&config, &f.ctx);
    if (s != TW_OK) {
        complain(NULL, "%s", tw_status_text(s));
        return STATUS_FAILED;
    }
    int status = STATUS_OK;
    for (int i = 0; i < given->word_count; i++) {
        int one = format_file(&f, given->words[i]);
        status = one > status ? one : status;
    }
    tw_context_free(f.ctx);
    return status == STATUS_OK && f.check && f.changed ? STATUS_FAILED : status;
}

static const struct option_spec fmt_options[] = {
    {.name = "check",
     .help =
         "change nothing; print the files that are not in the style, status 1 if there are any"},
    {.name = "diff",
     .help = "change nothing; print what would change, as `patch` takes it (status 1 if --check is "
             "given, too)"},
    {.name = NULL},
};

const struct command command_fmt = {
    .name = "fmt",
    .arguments = "FILE… [--check] [--diff]",
    .summary = "programs in one style",
    .about =
        "Formats programs: indentation, spaces and line breaks become those of the kernels that\n"
        "ship, and lines have at most 100 columns where they can be broken. Tokens and comments\n"
        "stay as they are. Prints the name of each file that it changes. `-` formats standard\n"
        "input to standard output. A file that does not follow the grammar is left as it is\n"
        "(status 2); the others are formatted.",
    .options = fmt_options,
    .examples = "  tilewright fmt mine.tile\n"
                "  tilewright fmt --check kernels/*/*.tile\n"
                "  tilewright fmt --diff mine.tile\n"
                "  tilewright fmt - < mine.tile\n",
    .run = fmt_run,
};
