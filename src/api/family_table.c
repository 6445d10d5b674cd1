/* A table of measured times: lines of JSON. A header names a device, types, sizes and variants; the
 * rows after it have the times at some sizes, in microseconds by variant:
 *
 *     {"family":"matmul","device":"NVIDIA H200","types":"T=f16","version":"1.2.0",
 *      "sizes":["m","n","k"],"variants":[{"kernel":"matmul_v6","tune":"BM=128,BN=128","resident":3}]}
 *     {"at":[16,4096,4096],"us":[12.61]}
 *
 * (each on one line). null is a time that was not measured, or a failure. Members with other names
 * are ignored, so that later versions may add some. The file is read twice: first only to find
 * what is wrong with it, so that a damaged file adds nothing. */
#include "api/family.h"

#include "base/json_parse.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { MOST_TEXT = 256 << 20 };

struct table_reader {
    tw_family *family;
    const struct source *source; /* in scratch memory, because messages point into it */
    const char *device;          /* whose results count as the own device's; NULL: none */
    bool is_default;             /* the caller did not name it: faults are warnings */
    bool adds;
    /* of the latest header */
    bool has_header;
    int size_count, variant_count;
    int *size_of;   /* by place in the row: number of the family's size */
    int *column_of; /* by place in the row; -1: it is left out */
    struct family_group *group;
};

/* Returns the command that writes the table again. */
static const char *rewrite(const struct table_reader *r)
{
    const tw_family *f = r->family;
    const char *path = f->source.name ? f->source.name
                                      : arena_printf(&f->ctx->scratch, "%s%s", f->folder, f->name);
    return arena_printf(&f->ctx->scratch, "`tilewright tune %s --table %s`", path, r->source->name);
}

/* Reports a fault of the file: an error, or a warning if it is the default table. */
static void report(const struct table_reader *r, struct loc at, const char *message)
{
    struct diag *d = &r->family->ctx->diag;
    if (!r->is_default) {
        diag_error(d, at, "%s", message);
        return;
    }
    diag_warning(d, at, "the table of the family `%s` is left out: %s", r->family->name, message);
    diag_note(d, LOC_NONE, "delete the file, and write the table again with %s", rewrite(r));
}

/* Reports a fault at a value and returns false. */
static bool wrong(struct table_reader *r, const struct json_value *at, const char *format, ...)
    DIAG_FORMAT(3, 4);

static bool wrong(struct table_reader *r, const struct json_value *at, const char *format, ...)
{
    struct arena *a = &r->family->ctx->scratch;
    va_list args;
    va_start(args, format);
    report(r, (struct loc){r->source, (uint32_t)at->offset, (uint32_t)at->length},
           arena_vprintf(a, format, args));
    va_end(args);
    return false;
}

/* Returns the member of that kind; NULL: reported. */
static const struct json_value *need(struct table_reader *r, const struct json_value *v,
                                     const char *key, enum json_kind kind)
{
    static const char *const names[] = {"null",     "true or false", "a number",
                                        "a string", "a list",        "an object"};
    const struct json_value *m = json_find(v, key);
    if (m && m->kind == kind)
        return m;
    wrong(r, m ? m : v, m ? "\"%s\" should be %s" : "\"%s\" is missing: %s", key, names[kind]);
    return NULL;
}

/* --- headers --- */

static int size_named(const tw_family *f, const char *name)
{
    for (int i = 0; i < f->size_count; i++)
        if (strcmp(f->members[0].kernel->info->params[f->size_param[i]].name, name) == 0)
            return i;
    return -1;
}

static bool read_size_names(struct table_reader *r, const struct json_value *list)
{
    const tw_family *f = r->family;
    bool seen[ENTRY_PARAMS] = {0};
    int i = 0;
    r->size_count = list->count;
    r->size_of = arena_array(&f->ctx->scratch, int, list->count);
    for (const struct json_value *name = list->first; name; name = name->next, i++) {
        int size = name->kind == JSON_STRING ? size_named(f, name->string) : -1;
        if (size < 0)
            return wrong(r, name, "the family `%s` has no such size", f->name);
        if (seen[size])
            return wrong(r, name, "the size `%s` is there twice", name->string);
        seen[size] = true;
        r->size_of[i] = size;
    }
    for (int s = 0; s < f->size_count; s++)
        if (!seen[s])
            return wrong(r, list, "the size `%s` of the family `%s` is missing",
                         f->members[0].kernel->info->params[f->size_param[s]].name, f->name);
    return true;
}

/* Warns of a variant that is left out, in the first reading. */
static void leave_out(struct table_reader *r, const struct json_value *at, const char *kernel,
                      const char *what)
{
    const tw_family *f = r->family;
    if (r->adds)
        return;
    diag_warning(&f->ctx->diag, (struct loc){r->source, (uint32_t)at->offset, (uint32_t)at->length},
                 "times of `%s` are ignored: %s", kernel, what);
    diag_note(&f->ctx->diag, LOC_NONE, "%s writes the table again", rewrite(r));
}

static bool read_variant(struct table_reader *r, const struct json_value *v, int *column)
{
    tw_family *f = r->family;
    const struct json_value *resident = json_find(v, "resident");
    const struct json_value *kernel = need(r, v, "kernel", JSON_STRING);
    const struct json_value *tune = kernel ? need(r, v, "tune", JSON_STRING) : NULL;
    if (!tune)
        return false;
    if (resident && (resident->kind != JSON_NUMBER || resident->number < 0 ||
                     resident->number > INT16_MAX || rint(resident->number) != resident->number))
        return wrong(r, resident, "\"resident\" is a number of blocks");
    int member = family_member_named(f, kernel->string);
    if (member < 0) {
        leave_out(r, kernel, kernel->string, "the family has no such kernel");
        return true;
    }
    const struct lang_kernel *info = f->members[member].kernel->info;
    struct stored_value *values =
        arena_array(&f->ctx->scratch, struct stored_value, info->tune_count);
    if (!tunes_read(info, tune->string, values))
        leave_out(r, tune, kernel->string, "the kernel has no such tuned values");
    else if (r->adds)
        *column =
            family_column(f, r->group, member, tune->string, resident ? (int)resident->number : 0);
    return true;
}

static bool read_variants(struct table_reader *r, const struct json_value *list)
{
    int i = 0;
    r->variant_count = list->count;
    r->column_of = arena_array(&r->family->ctx->scratch, int, list->count);
    for (const struct json_value *v = list->first; v; v = v->next, i++) {
        r->column_of[i] = -1;
        if (!read_variant(r, v, &r->column_of[i]))
            return false;
    }
    return true;
}

static bool read_header(struct table_reader *r, const struct json_value *line,
                        const struct json_value *family)
{
    tw_family *f = r->family;
    const struct json_value *device = need(r, line, "device", JSON_STRING);
    const struct json_value *types = device ? need(r, line, "types", JSON_STRING) : NULL;
    const struct json_value *sizes = types ? need(r, line, "sizes", JSON_ARRAY) : NULL;
    const struct json_value *variants = sizes ? need(r, line, "variants", JSON_ARRAY) : NULL;
    if (!variants)
        return false;
    if (family->kind != JSON_STRING || strcmp(family->string, f->name) != 0)
        return wrong(r, family, "this is not a table of the family `%s`", f->name);
    const char *text = family_types_text(f, types->string);
    if (!text)
        return wrong(r, types, "\"types\" is a list like \"T=f16\"");
    bool as_own = r->device && strcmp(device->string, r->device) == 0;
    if (r->adds)
        r->group = family_group(f, as_own && f->device ? f->device : device->string, text);
    r->has_header = true;
    return read_size_names(r, sizes) && read_variants(r, variants);
}

/* --- rows --- */

static bool read_row(struct table_reader *r, const struct json_value *line)
{
    int64_t sizes[ENTRY_PARAMS];
    const struct json_value *at = need(r, line, "at", JSON_ARRAY);
    const struct json_value *us = at ? need(r, line, "us", JSON_ARRAY) : NULL;
    int i = 0;
    if (!us)
        return false;
    if (!r->has_header)
        return wrong(r, line, "a row before the first header");
    if (at->count != r->size_count)
        return wrong(r, at, "%d values for %d sizes", at->count, r->size_count);
    if (us->count != r->variant_count)
        return wrong(r, us, "%d times for %d variants", us->count, r->variant_count);
    for (const struct json_value *v = at->first; v; v = v->next, i++) {
        if (v->kind != JSON_NUMBER || rint(v->number) != v->number || fabs(v->number) > 0x1p53)
            return wrong(r, v, "a size is an integer");
        sizes[r->size_of[i]] = (int64_t)v->number;
    }
    i = 0;
    for (const struct json_value *v = us->first; v; v = v->next, i++) {
        if (v->kind != JSON_NULL && (v->kind != JSON_NUMBER || v->number <= 0))
            return wrong(r, v, "a time is a number above 0, or null");
        if (v->kind == JSON_NUMBER && !family_is_time(v->number))
            return wrong(r, v, "a time is from %.9g to %.9g microseconds", (double)FLT_MIN,
                         (double)FLT_MAX);
        if (r->adds && v->kind == JSON_NUMBER && r->column_of[i] >= 0)
            family_add_time(r->family, r->group, sizes, r->column_of[i], v->number);
    }
    return true;
}

/* --- the file --- */

static bool read_line(struct table_reader *r, size_t begin, size_t end)
{
    tw_family *f = r->family;
    size_t fault;
    const struct json_value *v = json_parse(&f->loading, r->source->text, begin, end, &fault);
    if (!v) {
        struct json_value at = {.offset = fault < end ? fault : begin, .length = 1};
        return wrong(r, &at,
                     fault < end ? "this is not JSON" : "this line of JSON is not complete");
    }
    if (v->kind != JSON_OBJECT)
        return wrong(r, v, "a line of a table is an object");
    const struct json_value *family = json_find(v, "family");
    bool good = family ? read_header(r, v, family) : read_row(r, v);
    arena_free(&f->loading);
    return good;
}

static bool read_lines(struct table_reader *r, bool adds)
{
    const struct source *s = r->source;
    r->adds = adds;
    r->has_header = false;
    for (size_t begin = 0; begin < s->length;) {
        const char *newline = memchr(s->text + begin, '\n', s->length - begin);
        size_t end = newline ? (size_t)(newline - s->text) : s->length;
        size_t next = end + 1;
        end -= end > begin && s->text[end - 1] == '\r';
        if (end > begin && !read_line(r, begin, end))
            return false;
        begin = next;
    }
    return true;
}

static tw_status read_file(struct table_reader *r, const char *path)
{
    struct arena *a = &r->family->ctx->scratch;
    const char *why;
    struct source *source = arena_new(a, struct source);
    r->source = source;
    source->name = arena_string(a, path, strlen(path));
    source->text = platform_read_text(a, path, MOST_TEXT, true, &source->length, &why);
    if (!source->text) {
        report(r, LOC_NONE, arena_printf(a, "cannot read the table `%s`: %s", path, why));
        return TW_NO_FILE;
    }
    return read_lines(r, false) && read_lines(r, true) ? TW_OK : TW_BAD_PROGRAM;
}

static tw_status read_table(tw_family *f, const char *path, const char *device)
{
    return read_file(&(struct table_reader){.family = f, .device = device}, path);
}

void family_read_default_table(tw_family *f)
{
    const char *path = arena_printf(&f->ctx->scratch, "%s%s.table", f->folder, f->name);
    if (platform_file_exists(path))
        read_file(&(struct table_reader){.family = f, .is_default = true}, path);
}

struct add_call {
    tw_family *family;
    const char *path, *device;
};

static tw_status add_table(void *user)
{
    const struct add_call *c = user;
    tw_status status = read_table(c->family, c->path, c->device);
    if (status == TW_OK)
        family_take_device(c->family, c->device);
    return status;
}

tw_status tw_family_add_table(tw_family *f, const char *path, const char *device)
{
    REFUSE_IF(f, f->ctx, !path, "tw_family_add_table: `path` is NULL");
    return family_change(f, add_table, &(struct add_call){f, path, device});
}
