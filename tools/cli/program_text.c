/* Reads the texts of programs, compiles them, and finds their kernels. */
#include "cli/target.h"
#include "cli/files_read.h"
#include "tilewright_look.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Text of a program that was read before. A pipe can be read only once, but several words may
 * name it: -:first -:second. */
struct kept_text {
    struct kept_text *next;
    char *path, *text;
    size_t length;
};
static struct kept_text *kept_texts;

/* Returns NULL and sets errno on failure. */
static const struct kept_text *text_of_file(const char *path)
{
    enum { LARGEST_PROGRAM = 64 << 20 };
    for (const struct kept_text *k = kept_texts; k; k = k->next)
        if (strcmp(k->path, path) == 0)
            return k;
    size_t length;
    file_is_read(path);
    char *text = read_at_most(path, LARGEST_PROGRAM, &length);
    if (!text)
        return NULL;
    struct kept_text *k = need_memory(sizeof *k);
    *k = (struct kept_text){kept_texts, need_text("%s", path), text, length};
    return kept_texts = k;
}

/* Returns whether the file is text. The compiler would report an error for each byte of a binary
 * file. */
static bool is_text(const struct kept_text *k)
{
    size_t looked_at = k->length < 4096 ? k->length : 4096;
    return !memchr(k->text, '\0', looked_at) && k->text[0] != '\x93';
}

int program_take_text(struct program *p)
{
    struct complaints *c = p->complaints ? p->complaints : &complaints_of_nobody;
    const struct kept_text *k = text_of_file(p->path);
    if (!k) {
        complain(c, "cannot read `%s`: %s", p->path, strerror(errno));
        c->status = TW_NO_FILE;
        return STATUS_USAGE;
    }
    if (!k->length) {
        complain(c, "%s is empty, there is no program in it", p->path);
        return STATUS_USAGE;
    }
    if (k->length > 4 && memcmp(k->text, "\177ELF", 4) == 0) {
        complain(c, "%s is machine code; `tilewright check -- %s%s` runs and checks such a program",
                 p->path, strchr(p->path, '/') ? "" : "./", p->path);
        return STATUS_USAGE;
    }
    if (!is_text(k)) {
        complain(c, "%s is not a program: it holds bytes that are not text", p->path);
        return STATUS_USAGE;
    }
    p->text = k->text;
    p->length = k->length;
    return STATUS_OK;
}

/* Registers the files that a program imports, for --watch. Works also if the program does not
 * compile or an imported file does not exist yet. */
static void imports_are_read(tw_context *ctx, const char *path, const char *text, size_t length,
                             int levels)
{
    enum { LARGEST_IMPORT = 16 << 20 };
    int count;
    const tw_import *list;
    if (tw_text_imports(ctx, path, text, length, &count, &list) != TW_OK)
        return;
    char **paths = need_memory(((size_t)count + 1) * sizeof *paths);
    for (int i = 0; i < count; i++) {
        file_is_read(list[i].path);
        paths[i] = list[i].found ? need_text("%s", list[i].path) : NULL;
    }
    for (int i = 0; i < count; i++) {
        size_t size;
        char *inner = paths[i] && levels ? read_at_most(paths[i], LARGEST_IMPORT, &size) : NULL;
        if (inner)
            imports_are_read(ctx, paths[i], inner, size, levels - 1);
        free(inner);
        free(paths[i]);
    }
    free(paths);
}

int program_compile(struct program *p)
{
    enum { IMPORT_LEVELS = 8 };
    if (files_are_told())
        imports_are_read(p->ctx, p->path, p->text, p->length, IMPORT_LEVELS);
    tw_status s =
        p->is_folder ? TW_OK : tw_module_from_text(p->ctx, p->path, p->text, p->length, &p->module);
    if (s != TW_OK || (!p->is_folder && *tw_context_messages(p->ctx)))
        complain_library(p->complaints, p->ctx, s);
    return s == TW_OK ? STATUS_OK : s == TW_CANCELLED ? STATUS_FAILED : STATUS_USAGE;
}

int program_reopen(struct program *p, char *path, char *kernel)
{
    tw_family_free(p->family);
    free(p->path);
    free(p->kernel);
    p->family = NULL;
    p->path = path;
    p->kernel = kernel;
    p->is_folder = false;
    int status = program_take_text(p);
    return status == STATUS_OK ? program_compile(p) : status;
}

void program_close(struct program *p)
{
    tw_family_free(p->family);
    if (!p->shares_context)
        tw_context_free(p->ctx);
    free(p->path);
    free(p->kernel);
    *p = (struct program){0};
}

tw_kernel *program_kernel_at(const struct program *p, int index)
{
    return p->family ? tw_family_kernel(p->family, index) : tw_module_kernel_at(p->module, index);
}

tw_kernel *program_kernel(const struct program *p, const struct command *c)
{
    int count = p->family ? tw_family_kernel_count(p->family) : tw_module_kernel_count(p->module);
    if (p->kernel) {
        tw_kernel *k = tw_module_kernel(p->module, p->kernel);
        if (!k)
            complain_library(p->complaints, p->ctx, TW_NOT_FOUND);
        return k;
    }
    if (count == 1)
        return program_kernel_at(p, 0);
    if (count == 0) {
        complain(p->complaints, "%s has no kernel", p->path);
        return NULL;
    }
    complain(p->complaints, "%s has %d kernels; say which:", p->path, count);
    for (int i = 0; i < count; i++)
        complain_more(p->complaints, "tilewright %s %s:%s", c->name, p->path,
                      tw_kernel_name(program_kernel_at(p, i)));
    return NULL;
}
