/* The members of a family: from a path to files, and from files to kernels. */
#include "api/family.h"

#include "base/platform.h"

#include <stdlib.h>
#include <string.h>

/* Sets the name that follows from a path, "matmul" of "kernels/matmul.tile" or of the folder
 * "kernels/matmul/", and the folder of the table. */
static void take_path(tw_family *f, const char *path, bool is_folder)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    const char *own = arena_string(&f->arena, path, length), *base = text_base_name(own);
    if (strcmp(base, ".") == 0 || strcmp(base, "..") == 0) {
        const char *real = platform_real_path(&f->arena, own);
        own = real ? real : own;
        base = text_base_name(own);
    }
    const char *dot = is_folder ? NULL : strrchr(base, '.');
    f->folder = arena_string(&f->arena, own, (size_t)(base - own));
    f->name = dot && dot > base ? arena_string(&f->arena, base, (size_t)(dot - base)) : base;
}

static tw_status refuse_name(const tw_family *f, const char *path, const char *name)
{
    struct diag *d = &f->ctx->diag;
    diag_error(d, LOC_NONE, "`%s` has no family `%s`", path, name);
    diag_note(d, LOC_NONE, "its kernels are the family `%s`", f->name);
    return TW_NOT_FOUND;
}

/* --- a folder --- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct platform_file *)a)->name, ((const struct platform_file *)b)->name);
}

static tw_status find_in_folder(tw_family *f, const char *path)
{
    tw_context *ctx = f->ctx;
    struct platform_files found = platform_list_files(&ctx->scratch, path);
    const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
    qsort(found.list.data, found.list.count, sizeof *found.list.data, compare_names);
    f->files = arena_array(&f->arena, struct family_file, found.list.count + 1);
    for (size_t i = 0; i < found.list.count; i++) {
        const char *name = found.list.data[i].name, *dot = strrchr(name, '.');
        if (!dot || strcmp(dot, ".tile") != 0)
            continue;
        f->files[f->file_count++] = (struct family_file){
            .path = arena_printf(&f->arena, "%s%s%s", path, slash, name), .all = true};
    }
    if (f->file_count > 0)
        return TW_OK;
    diag_error(&ctx->diag, LOC_NONE, "the folder `%s` has no .tile file", path);
    return TW_NO_FILE;
}

/* --- a file --- */

/* Returns the family of that name; -1: reported. */
static int family_named(const tw_family *f, const struct module *m, const char *name)
{
    tw_context *ctx = f->ctx;
    int count = lang_family_count(m);
    const char **names = arena_array(&ctx->scratch, const char *, count);
    for (int i = 0; i < count; i++)
        names[i] = lang_family(&ctx->scratch, m, i).name;
    int index = name ? context_name_find(name, names, count) : count == 1 ? 0 : -1;
    if (index >= 0)
        return index;
    if (name)
        diag_error(&ctx->diag, LOC_NONE, "%s has no family `%s`", f->source.name, name);
    else
        diag_error(&ctx->diag, LOC_NONE, "%s has %d families: say which", f->source.name, count);
    context_suggest(&ctx->diag, &ctx->scratch, name ? name : "", names, count);
    return -1;
}

static tw_status take_declared(tw_family *f, const struct module *m, const char *name,
                               const struct lang_search *search)
{
    int index = family_named(f, m, name);
    if (index < 0)
        return TW_NOT_FOUND;
    struct lang_family declared = lang_family(&f->arena, m, index);
    if (!lang_find_members(&f->arena, &f->ctx->diag, &f->source, search, &declared))
        return TW_BAD_PROGRAM;
    f->name = declared.name;
    f->file_count = (int)declared.members.count;
    f->files = arena_array(&f->arena, struct family_file, f->file_count + 1);
    for (int i = 0; i < f->file_count; i++) {
        const struct lang_member *one = &declared.members.data[i];
        f->files[i] = (struct family_file){
            .path = one->path, .kernel = one->kernel, .at = one->at, .kernel_at = one->kernel_at};
    }
    return TW_OK;
}

static tw_status find_in_file(tw_family *f, const char *path, const char *name)
{
    enum { MOST_TEXT = 16 << 20 };
    tw_context *ctx = f->ctx;
    const char *why;
    const struct lang_search search = {.path = ctx->import_path};
    f->source.name = arena_string(&f->arena, path, strlen(path));
    f->source.text = platform_read_text(&f->arena, path, MOST_TEXT, false, &f->source.length, &why);
    if (!f->source.text) {
        diag_error(&ctx->diag, LOC_NONE, "cannot read `%s`: %s", path, why);
        return TW_NO_FILE;
    }
    const struct module *m = lang_parse_with(&f->arena, &ctx->diag, &f->source, &search);
    if (!m)
        return TW_BAD_PROGRAM;
    if (lang_family_count(m) > 0)
        return take_declared(f, m, name, &search);
    if (name && strcmp(name, f->name) != 0)
        return refuse_name(f, path, name);
    f->files = arena_new(&f->arena, struct family_file);
    f->files[0] = (struct family_file){.path = f->source.name, .all = true};
    f->file_count = 1;
    return TW_OK;
}

/* Returns the file of a name, "matmul": NAME.tile in the folders of imports, which end with the
 * kernels that ship. Returns other paths as they are. */
static const char *file_called(tw_family *f, const char *path)
{
    if (path[strcspn(path, "/.")] || platform_file_exists(path) || platform_is_folder(path))
        return path;
    for (const char *at = f->ctx->import_path; *at; at += strcspn(at, ":"), at += *at == ':') {
        const char *file = arena_printf(&f->arena, "%.*s/%s.tile", (int)strcspn(at, ":"), at, path);
        if (platform_file_exists(file))
            return file;
    }
    return path;
}

tw_status family_find(tw_family *f, const char *path, const char *name)
{
    path = file_called(f, path);
    bool is_folder = platform_is_folder(path);
    take_path(f, path, is_folder);
    if (!is_folder)
        return find_in_file(f, path, name);
    return name && strcmp(name, f->name) != 0 ? refuse_name(f, path, name)
                                              : find_in_folder(f, path);
}

/* --- kernels --- */

/* Returns the kernel that a declaration names; NULL: reported. */
static tw_kernel *kernel_of(const tw_family *f, const struct family_file *file)
{
    tw_context *ctx = f->ctx;
    struct diag *d = &ctx->diag;
    tw_module *m = file->module;
    const char **names = arena_array(&ctx->scratch, const char *, m->kernel_count);
    for (int i = 0; i < m->kernel_count; i++)
        names[i] = m->kernels[i].info->name;
    if (m->kernel_count == 0) {
        diag_error(d, file->at, "`%s` has no kernel", file->path);
        if (lang_family_count(m->parsed) > 0)
            diag_note(d, file->at,
                      "it has a family, whose kernels are not members of another one: name the "
                      "files of its kernels here");
        return NULL;
    }
    int index = file->kernel ? context_name_find(file->kernel, names, m->kernel_count) : 0;
    if (index >= 0 && (file->kernel || m->kernel_count == 1))
        return &m->kernels[index];
    if (file->kernel)
        diag_error(d, file->kernel_at, "`%s` has no kernel `%s`", file->path, file->kernel);
    else
        diag_error(d, file->at, "`%s` has %d kernels: write `\"FILE\": KERNEL;`", file->path,
                   m->kernel_count);
    context_suggest(d, &ctx->scratch, file->kernel ? file->kernel : "", names, m->kernel_count);
    return NULL;
}

static void add_member(tw_family *f, const struct family_file *file, tw_kernel *k)
{
    struct diag *d = &f->ctx->diag;
    for (int i = 0; i < f->member_count; i++)
        if (strcmp(f->members[i].kernel->info->name, k->info->name) == 0) {
            diag_error(d, k->info->loc, "the family `%s` has two kernels of the name `%s`", f->name,
                       k->info->name);
            diag_note(d, f->members[i].kernel->info->loc,
                      "the other one; tables and results tell kernels by their names, so give one "
                      "of them another name");
        }
    f->members[f->member_count++] = (struct family_member){
        .kernel = k, .path = file->path, .at = file->at.source ? file->at : k->info->loc};
}

tw_status family_take_members(tw_family *f)
{
    struct diag *d = &f->ctx->diag;
    int count = 0;
    for (int i = 0; i < f->file_count; i++)
        count += f->files[i].all ? f->files[i].module->kernel_count : 1;
    f->members = arena_array(&f->arena, struct family_member, count + 1);
    for (int i = 0; i < f->file_count; i++) {
        const struct family_file *file = &f->files[i];
        tw_kernel *named = file->all ? NULL : kernel_of(f, file);
        if (named)
            add_member(f, file, named);
        for (int k = 0; file->all && k < file->module->kernel_count; k++)
            add_member(f, file, &file->module->kernels[k]);
    }
    if (d->errors == 0 && f->member_count == 0) {
        diag_error(d, LOC_NONE, "the family `%s` has no kernel", f->name);
        return TW_NOT_FOUND;
    }
    return d->errors ? TW_BAD_PROGRAM : TW_OK;
}
