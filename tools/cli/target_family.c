/* Families as the targets of commands: files that declare them, folders, files with several kernels
 * that compute the same; and their members. */
#include "cli/files_read.h"
#include "cli/target.h"
#include "tilewright_look.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* Returns a pattern for the .tile files in the folder or, if it has none, in its subfolders.
 * Returns NULL if there are none. The caller frees. */
static char *pattern_of_files(const char *folder)
{
    static const char *const below[] = {"*.tile", "*/*.tile", "*/*/*.tile"};
    size_t length = strlen(folder);
    const char *between = length && folder[length - 1] == '/' ? "" : "/";
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        glob_t found = {0};
        char *pattern = strcmp(folder, ".") == 0 ? need_text("%s", below[i])
                                                 : need_text("%s%s%s", folder, between, below[i]);
        bool any = glob(pattern, 0, NULL, &found) == 0;
        globfree(&found);
        if (any)
            return pattern;
        free(pattern);
    }
    return NULL;
}

/* Refuses a folder that is not a family; the latest call has the reason. */
static int refuse_folder(const struct program *p)
{
    char *pattern = pattern_of_files(p->path);
    tw_message m = tw_message_init();
    if (!pattern) {
        complain(p->complaints, "`%s` is a folder, and there is no .tile file in it: name a file",
                 p->path);
        return STATUS_USAGE;
    }
    complain(
        p->complaints,
        "`%s` is a folder, and its kernels are not a family: name one of its files; commands that "
        "take several files take all of them as %s",
        p->path, pattern);
    if (tw_context_message(p->ctx, 0, &m) && m.file)
        complain_more(p->complaints, "%s:%d:%d: %s", m.file, m.line, m.column, m.text);
    free(pattern);
    return STATUS_USAGE;
}

/* Registers the files of the members, for --watch. */
static void members_are_read(const struct program *p)
{
    const char *file;
    for (int i = 0; (file = tw_family_file(p->family, i)); i++)
        file_is_read(file);
}

/* Returns the index of a kernel of the file or the family; -1: it has none of that name. */
static int kernel_named(const struct program *p, const char *name)
{
    tw_kernel *k;
    for (int i = 0; (k = program_kernel_at(p, i)); i++)
        if (strcmp(tw_kernel_name(k), name) == 0)
            return i;
    return -1;
}

/* Names of families. */
struct names {
    char **list;
    int count;
};

/* Returns the families that the text declares. */
static struct names declared_families(const struct program *p)
{
    struct names n = {0};
    int count;
    const tw_symbol *list;
    if (tw_text_symbols(p->ctx, p->text, p->length, &count, &list) != TW_OK)
        return n;
    n.list = need_memory(((size_t)count + 1) * sizeof *n.list);
    for (int i = 0; i < count; i++)
        if (list[i].kind == TW_SYMBOL_FAMILY)
            n.list[n.count++] = need_text("%s", list[i].name);
    return n;
}

static bool has_name(const struct names *n, const char *name)
{
    int i = 0;
    while (i < n->count && strcmp(n->list[i], name) != 0)
        i++;
    return i < n->count;
}

static void free_names(struct names *n)
{
    for (int i = 0; i < n->count; i++)
        free(n->list[i]);
    free(n->list);
}

/* Refuses a name after the colon that no kernel of the family has. */
static int refuse_member(const struct program *p)
{
    int count = tw_family_kernel_count(p->family);
    const char **names = need_memory(((size_t)count + 1) * sizeof *names);
    for (int i = 0; i < count; i++)
        names[i] = tw_kernel_name(tw_family_kernel(p->family, i));
    char *hint = name_hint(p->kernel, names);
    complain(p->complaints, "the family `%s` has no kernel '%s'%s", tw_family_name(p->family),
             p->kernel, hint);
    free(hint);
    free(names);
    return STATUS_USAGE;
}

/* Prints the warnings of loading: what is left out of the family's table. */
static void show_warnings(struct program *p)
{
    if (*tw_context_messages(p->ctx))
        complain_library(p->complaints, p->ctx, TW_OK);
}

/* Loads the family called `name`; NULL: the only one. */
static int load(struct program *p, const char *name)
{
    tw_status s = tw_family_from_file(p->ctx, p->path, name, NULL, &p->family);
    if (s == TW_OK) {
        show_warnings(p);
        members_are_read(p);
        return STATUS_OK;
    }
    if (p->is_folder && s != TW_CANCELLED)
        return refuse_folder(p);
    complain_library(p->complaints, p->ctx, s);
    return s == TW_CANCELLED ? STATUS_FAILED : STATUS_USAGE;
}

/* Finds the kernel after the colon in one of several families. */
static int find_among(struct program *p, const struct names *families)
{
    char *text = NULL;
    for (int i = 0; i < families->count; i++) {
        int status = load(p, families->list[i]);
        if (status != STATUS_OK)
            return status;
        int member = kernel_named(p, p->kernel);
        if (member >= 0)
            return program_take_member(p, member);
        tw_family_free(p->family);
        p->family = NULL;
        append_text(&text, "%s`%s`", i ? ", " : "", families->list[i]);
    }
    complain(p->complaints, "%s has no family '%s', and none of its families (%s) has that kernel",
             p->path, p->kernel, text);
    free(text);
    return STATUS_USAGE;
}

/* Loads the only family, or the one that the target names, or that of the kernel after the colon. */
static int find_declared(struct program *p, const struct names *families)
{
    bool is_named = p->kernel && has_name(families, p->kernel);
    if (p->kernel && !is_named && families->count > 1)
        return find_among(p, families);
    int status = load(p, is_named ? p->kernel : NULL);
    if (status != STATUS_OK || !p->kernel)
        return status;
    int member = kernel_named(p, p->kernel); /* before the family, which may have the same name */
    if (member < 0 && is_named) {
        free(p->kernel);
        p->kernel = NULL;
        return STATUS_OK;
    }
    return member < 0 ? refuse_member(p) : program_take_member(p, member);
}

int program_find_family(struct program *p)
{
    bool has_it = p->kernel ? kernel_named(p, p->kernel) >= 0 : program_kernel_at(p, 0) != NULL;
    if (p->is_folder)
        return find_declared(p, &(struct names){0});
    if (has_it)
        return STATUS_OK;
    struct names families = declared_families(p);
    int status = families.count ? find_declared(p, &families) : STATUS_OK;
    free_names(&families);
    return status;
}

bool program_is_family(struct program *p)
{
    bool several = !p->family && !p->kernel && tw_module_kernel_count(p->module) > 1;
    if (several && tw_family_from_file(p->ctx, p->path, NULL, NULL, &p->family) != TW_OK)
        p->family = NULL; /* its kernels compute different things */
    else if (several)
        show_warnings(p);
    return p->family != NULL;
}

int program_take_member(struct program *p, int index)
{
    char *file = need_text("%s", tw_family_file(p->family, index));
    return program_reopen(p, file,
                          need_text("%s", tw_kernel_name(tw_family_kernel(p->family, index))));
}
