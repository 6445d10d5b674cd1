/* Command new: creates a first kernel to change, from a template of tools/templates. */
#include "cli/commands.h"
#include "cli/embedded_text.h"
#include "cli/file_new.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEMPLATES = 16 };
#define DEFAULT_TEMPLATE "elementwise"
#define ENDING ".tile"

/* Returns the name of a template: its file without ".tile". The caller frees. */
static char *template_name(const struct embedded_text *t)
{
    return need_text("%.*s", (int)(strlen(t->path) - strlen(ENDING)), t->path);
}

static void list_templates(void)
{
    for (const struct embedded_text *t = template_texts; t->path; t++) {
        char *name = template_name(t);
        const char *about = t->text + strlen("// ");
        printf("%-12s %.*s\n", name, (int)strcspn(about, "\n"), about);
        free(name);
    }
}

/* Returns NULL after printing a message. */
static const struct embedded_text *find_template(const struct command *self, const char *wanted)
{
    char *names[MOST_TEMPLATES + 1] = {0};
    const struct embedded_text *found = NULL;
    int count = 0;
    for (const struct embedded_text *t = template_texts; t->path && count < MOST_TEMPLATES; t++) {
        names[count] = template_name(t);
        if (strcmp(names[count++], wanted) == 0)
            found = t;
    }
    if (!found) {
        char *hint = name_hint(wanted, (const char *const *)names);
        usage_error(NULL, self, "there is no template '%s'%s", wanted, hint);
        free(hint);
    }
    for (int i = 0; i < count; i++)
        free(names[i]);
    return found;
}

/* Copies `text` with `by` in place of each `word`. The caller frees. */
static char *with_word_replaced(const char *text, const char *word, const char *by)
{
    char *out = need_text("%s", "");
    for (const char *next; (next = strstr(text, word)); text = next + strlen(word))
        append_text(&out, "%.*s%s", (int)(next - text), text, by);
    append_text(&out, "%s", text);
    return out;
}

/* Returns the template's text for a kernel of that name in the file `path`. The caller frees. */
static char *text_for(const struct embedded_text *t, const char *kernel, const char *path)
{
    char *old = template_name(t), *word = shell_word(path);
    char *old_head = need_text("kernel %s(", old), *head = need_text("kernel %s(", kernel);
    char *named = with_word_replaced(t->text, t->path, word);
    char *text = with_word_replaced(named, old_head, head);
    free(old);
    free(word);
    free(old_head);
    free(head);
    free(named);
    return text;
}

/* Returns whether the text is a valid name. Returns false after printing a message. */
static bool is_name(const struct command *self, const char *kernel)
{
    char *better = need_text("%s", kernel);
    for (char *c = better; *c; c++)
        if (!isalnum((unsigned char)*c) || (unsigned char)*c >= 0x80)
            *c = '_';
    bool digit = isdigit((unsigned char)*kernel);
    bool ok = *kernel && !digit && strcmp(better, kernel) == 0;
    if (!ok && *kernel)
        usage_error(NULL, self,
                    "the file names its kernel, and '%s' cannot be a name: write %s%s" ENDING,
                    kernel, digit ? "k" : "", better);
    else if (!ok)
        usage_error(NULL, self, "NAME is the kernel's name, or a file NAME" ENDING);
    free(better);
    return ok;
}

/* Returns whether the name is not a keyword of C, because `build` writes the kernel as a C
 * function. Returns false after printing a message. */
static bool is_free_in_c(const struct command *self, const char *kernel)
{
    static const char *const keywords[] = {
        "auto",     "break",   "case",   "char",     "const",  "continue", "default",
        "do",       "double",  "else",   "enum",     "extern", "float",    "for",
        "goto",     "if",      "inline", "int",      "long",   "main",     "register",
        "restrict", "return",  "short",  "signed",   "sizeof", "static",   "struct",
        "switch",   "typedef", "union",  "unsigned", "void",   "volatile", "while"};
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (strcmp(kernel, keywords[i]) == 0) {
            usage_error(NULL, self,
                        "'%s' cannot name a kernel: it is a word of C, and `build` writes a C "
                        "function of that name; write my_%s" ENDING,
                        kernel, kernel);
            return false;
        }
    return true;
}

/* Compiles the text, because the name may be a word of the language. Returns false after
 * printing a message. */
static bool compiles(const struct command *self, const char *kernel, const char *text)
{
    tw_context *ctx;
    tw_module *module;
    tw_message m = tw_message_init();
    tw_status s = tw_context_new(NULL, &ctx);
    if (s == TW_OK)
        s = tw_module_from_text(ctx, "new", text, strlen(text), &module);
    if (s == TW_BAD_PROGRAM && tw_context_message(ctx, 0, &m))
        usage_error(NULL, self, "'%s' cannot name a kernel: %s", kernel, m.text);
    else if (s != TW_OK)
        complain_library(NULL, ctx, s);
    tw_context_free(ctx);
    return s == TW_OK;
}

/* Prints the commands that the text's first comment lists. */
static void print_next(const char *text, const char *path)
{
    print_text(stdout, "Wrote %s. Next:\n\n", path);
    for (const char *line = text; strncmp(line, "//", 2) == 0;) {
        size_t length = strcspn(line, "\n");
        if (strncmp(line, "//     ", 7) == 0)
            print_text(stdout, "    %.*s\n", (int)length - 7, line + 7);
        line += length + 1;
    }
}

static int write_new(const char *path, const char *text)
{
    switch (file_write_new(path, text)) {
    case FILE_WRITTEN: print_next(text, path); return STATUS_OK;
    case FILE_WAS_THERE:
        complain(NULL, "%s exists already, and is left as it is: choose another name", path);
        return STATUS_USAGE;
    case FILE_FAILED: break;
    }
    complain(NULL, "%s cannot be written: %s", path, strerror(errno));
    return STATUS_USAGE;
}

static int new_run(const struct command *self, const struct options *given)
{
    if (options_has(given, "list")) {
        if (given->word_count)
            return usage_error(NULL, self, "--list takes no NAME");
        list_templates();
        return STATUS_OK;
    }
    if (given->word_count != 1)
        return usage_error(NULL, self, given->word_count ? "one NAME at a time" : "which NAME?");
    const char *wanted = options_value(given, "from"), *word = given->words[0];
    const struct embedded_text *t = find_template(self, wanted ? wanted : DEFAULT_TEMPLATE);
    if (!t)
        return STATUS_USAGE;
    char *path = need_text("%s%s", word, ends_with(word, ENDING) ? "" : ENDING);
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *kernel = need_text("%.*s", (int)(strlen(base) - strlen(ENDING)), base);
    char *text = text_for(t, kernel, path);
    int status = STATUS_USAGE;
    char *folder = need_text("%.*s", slash ? (int)(slash - path) : 0, path);
    if (is_name(self, kernel) && is_free_in_c(self, kernel) && compiles(self, kernel, text) &&
        !(*folder && folder_is_missing(folder)))
        status = write_new(path, text);
    free(folder);
    free(path);
    free(kernel);
    free(text);
    return status;
}

static const struct option_spec new_options[] = {
    {.name = "from",
     .values = 1,
     .value = "TEMPLATE",
     .help = "the template (default: " DEFAULT_TEMPLATE ")"},
    {.name = "list", .help = "list the templates"},
    {.name = NULL},
};

const struct command command_new = {
    .name = "new",
    .arguments = "NAME [--from TEMPLATE]",
    .summary = "a first kernel to change, from a template",
    .about =
        "Writes NAME.tile: a small kernel with comments, which compiles for CPU and GPU and says\n"
        "in `ensures` what it computes. NAME is the kernel's name; a path may precede it. Prints\n"
        "the commands that run, check and explain the kernel. A file that exists is left as it is\n"
        "(status 2).",
    .options = new_options,
    .examples = "  tilewright new --list\n"
                "  tilewright new scale\n"
                "  tilewright new attention_scores --from product\n",
    .run = new_run,
};
