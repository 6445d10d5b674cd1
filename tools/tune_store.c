/* What can be done with stored results: listing, forgetting, exporting. */
#include "tune.h"
#include "tuned.h"

#include <stdlib.h>
#include <string.h>

struct store_command {
    const struct command *self;
    const struct options *given;
    struct program program; /* of FILE; else it has a context alone */
    tw_context *ctx;
    tw_store *store;
    tw_tuned filter;
    char device[256];
    int count; /* rows found */
};

/* --- what is meant --- */

/* FILE[:KERNEL]: what is stored of that kernel, whatever its text was then. */
static int open_filter(struct store_command *c)
{
    if (c->given->word_count > 1)
        return usage_error(NULL, c->self, "one FILE, please");
    const struct program_config config = {.colour = on_terminal(stderr)};
    if (c->given->word_count == 0) {
        int status = context_open(&c->program.ctx, &config);
        c->ctx = c->program.ctx;
        return status;
    }
    int status = program_open(&c->program, c->given->words[0], &config);
    c->ctx = c->program.ctx;
    tw_kernel *k = status == STATUS_OK ? program_kernel(&c->program, c->self) : NULL;
    if (status == STATUS_OK && k)
        c->filter.kernel = tw_kernel_name(k);
    return status == STATUS_OK && !k ? STATUS_USAGE : status;
}

/* --device: cpu, cuda, or a name as it is stored. */
static void filter_device(struct store_command *c)
{
    const char *device = options_value(c->given, "device");
    tw_device d;
    c->filter.device = device;
    if (device && device_named(device, &d)) {
        bool is_host = strcmp(d.name, "cpu") == 0;
        snprintf(c->device, sizeof c->device, "%s", is_host ? d.description : d.model);
        c->filter.device = c->device;
    }
}

static int find_rows(struct store_command *c)
{
    tw_status s = tw_store_find(c->store, &c->filter, &c->count);
    if (s != TW_OK)
        complain_library(NULL, c->ctx, s);
    return s == TW_OK ? STATUS_OK : STATUS_FAILED;
}

static bool same_subject(const tw_tuned *a, const tw_tuned *b)
{
    return strcmp(a->device, b->device) == 0 && strcmp(a->kernel, b->kernel) == 0 &&
           strcmp(a->program, b->program) == 0 && strcmp(a->types, b->types) == 0;
}

/* Rows come sorted: by subject, class and sizes; in these what is right, the fastest first. */
static bool begins_sizes(const struct store_command *c, int i)
{
    const tw_tuned *row = tw_store_at(c->store, i), *before = tw_store_at(c->store, i - 1);
    return !before || !same_subject(row, before) || strcmp(row->sizes, before->sizes) != 0 ||
           strcmp(row->shape, before->shape) != 0;
}

static bool is_old(const tw_tuned *row)
{
    return strcmp(row->version, tw_version()) != 0;
}

/* --- --list --- */

static void print_heading(const tw_tuned *row)
{
    printf("%s  %s%s%s  on %s  (program %s%s)\n", row->kernel, row->types, *row->types ? "  " : "",
           row->sizes, row->device, row->program, is_old(row) ? ", another version's" : "");
}

static void print_sizes(const struct store_command *c, int first)
{
    int right = 0, failed = 0;
    for (int i = first; i < c->count && (i == first || !begins_sizes(c, i)); i++) {
        right += tw_store_at(c->store, i)->status == TW_OK;
        failed += tw_store_at(c->store, i)->status != TW_OK;
    }
    const tw_tuned *best = tw_store_at(c->store, first);
    print_heading(best);
    if (best->status == TW_OK)
        printf("  %.4g ms  %s  (%d measured, %d failed)\n", best->milliseconds, best->tune, right,
               failed);
    else
        printf("  none is right (%d failed, %s: %s)\n", failed, best->tune, best->why);
}

static int list(struct store_command *c)
{
    int status = find_rows(c);
    for (int i = 0; i < c->count; i++)
        if (begins_sizes(c, i))
            print_sizes(c, i);
    if (status == STATUS_OK && c->count == 0)
        printf("nothing is stored%s%s in %s\n", c->filter.kernel ? " of " : "",
               c->filter.kernel ? c->filter.kernel : "", tw_store_path(c->store));
    return status;
}

/* --- --forget --- */

/* Without a FILE: what other versions of the library measured, one version at a time. */
static int forget_versions(struct store_command *c, int *deleted)
{
    int status = find_rows(c), count;
    char **versions = need_memory((size_t)(c->count + 1) * sizeof *versions);
    int different = 0;
    for (int i = 0; i < c->count; i++) {
        const char *version = tw_store_at(c->store, i)->version;
        bool seen = strcmp(version, tw_version()) == 0;
        for (int v = 0; v < different; v++)
            seen = seen || strcmp(version, versions[v]) == 0;
        if (!seen)
            versions[different++] = need_text("%s", version);
    }
    for (int v = 0; v < different; v++) {
        tw_tuned filter = {.version = versions[v], .device = c->filter.device};
        if (tw_store_forget(c->store, &filter, &count) == TW_OK)
            *deleted += count;
        else
            status = STATUS_FAILED;
        free(versions[v]);
    }
    free(versions);
    return status;
}

static int forget(struct store_command *c)
{
    int deleted = 0, status = STATUS_OK;
    if (!c->filter.kernel)
        status = forget_versions(c, &deleted);
    else if (tw_store_forget(c->store, &c->filter, &deleted) != TW_OK)
        status = STATUS_FAILED;
    if (status != STATUS_OK)
        complain_library(NULL, c->ctx, TW_NO_FILE);
    else
        printf("%d result%s deleted from %s\n", deleted, deleted == 1 ? "" : "s",
               tw_store_path(c->store));
    return status;
}

/* --- --export --- */

/* The next "NAME=VALUE" of a row's text. */
static bool next_pair(const char **at, char name[64], char value[64])
{
    struct assignment a;
    bool bad;
    if (!next_assignment(at, &a, &bad))
        return false;
    memcpy(name, a.name, 64);
    memcpy(value, a.value, 64);
    return true;
}

/* The winner of each class: of several sizes in it those measured last. */
static bool is_winner(const struct store_command *c, int i)
{
    const tw_tuned *row = tw_store_at(c->store, i);
    if (row->status != TW_OK || !*row->tune || !begins_sizes(c, i))
        return false;
    for (int j = 0; j < c->count; j++) {
        const tw_tuned *other = tw_store_at(c->store, j);
        if (j == i || other->status != TW_OK || !begins_sizes(c, j) || !same_subject(row, other) ||
            strcmp(row->shape, other->shape) != 0)
            continue;
        if (other->measured > row->measured || (other->measured == row->measured && j < i))
            return false;
    }
    return true;
}

/* One object a line: {"kernel": "matmul_v4", "types": {"T": "f16"}, "device": …, "class": {"m": [lo,
 * hi, 16], …}, "sizes": {…}, "tune": {"BM": 128, …}, "ms": …}. */
static void line_open(struct json *j, const char *key)
{
    if (key)
        json_key(j, key);
    json_open(j, '{');
    j->in_row = true;
}

static void line_close(struct json *j, char bracket)
{
    json_close(j, bracket);
    j->in_row = true;
}

static void line_pairs(struct json *j, const char *key, const char *text, bool quoted)
{
    char name[64], value[64];
    line_open(j, key);
    for (const char *at = text; next_pair(&at, name, value);) {
        json_key(j, name);
        if (quoted)
            json_string(j, value);
        else
            json_number(j, value);
    }
    line_close(j, '}');
}

static void line_class(struct json *j, const char *shape)
{
    char name[64];
    int64_t low, high;
    int divisor;
    line_open(j, "class");
    for (const char *at = shape; tw_shape_next(&at, name, &low, &high, &divisor);) {
        json_key(j, name);
        json_open_row(j);
        json_integer(j, low);
        json_integer(j, high);
        if (divisor > 1)
            json_integer(j, divisor);
        line_close(j, ']');
    }
    line_close(j, '}');
}

static void export_line(const tw_tuned *row)
{
    struct json j = {.out = stdout, .in_row = true};
    line_open(&j, NULL);
    json_key(&j, "kernel");
    json_string(&j, row->kernel);
    line_pairs(&j, "types", row->types, true);
    json_key(&j, "device");
    json_string(&j, row->device);
    if (tuned_of_host(row->device)) { /* which another machine would not know by its name */
        json_key(&j, "target");
        json_string(&j, "cpu");
    }
    json_key(&j, "program");
    json_string(&j, row->program);
    line_class(&j, row->shape);
    line_pairs(&j, "sizes", row->sizes, false);
    line_pairs(&j, "tune", row->tune, false);
    json_key(&j, "ms");
    json_real(&j, row->milliseconds);
    json_key(&j, "version");
    json_string(&j, row->version);
    line_close(&j, '}');
    json_end(&j);
}

static void c_string(const char *text)
{
    putchar('"');
    for (const char *c = text; *c; c++) {
        if (strchr("\"\\?", *c)) /* "??" might begin a trigraph */
            putchar('\\');
        putchar(*c);
    }
    putchar('"');
}

/* The most names that a winner's text has; 1 at least, since C has no arrays of none. */
static int most_names(const struct store_command *c, bool tuned)
{
    int most = 1;
    for (int i = 0; i < c->count; i++) {
        const tw_tuned *row = tw_store_at(c->store, i);
        int count = 1;
        for (const char *at = tuned ? row->tune : row->shape; *at; at++)
            count += *at == ',';
        most = count > most ? count : most;
    }
    return most;
}

static void c_types(const struct store_command *c)
{
    printf(
        "/* Tuned values, by `tilewright tune --export c`. A launch takes those of its device, "
        "kernel, "
        "types and\n"
        " * sizes: each within [low, high], and a multiple of `divisor` exactly where that is more "
        "than 1. A name\n"
        " * that is NULL ends a list, unless it is full. */\n"
        "#ifndef TILEWRIGHT_WINNERS_H\n#define TILEWRIGHT_WINNERS_H\n\n"
        "struct tilewright_size {\n    const char *name;\n    long long low, high;\n"
        "    int divisor;\n};\n"
        "struct tilewright_value {\n    const char *name;\n    double value;\n};\n"
        "struct tilewright_winner {\n    const char *device, *kernel;\n"
        "    const char *program; /* a hash of its text */\n    const char *types;   /* T=f16 */\n"
        "    struct tilewright_size sizes[%d];\n    struct tilewright_value tuned[%d];\n"
        "    double milliseconds;\n};\n\n"
        "static const struct tilewright_winner tilewright_winners[] = {\n",
        most_names(c, false), most_names(c, true));
}

static void c_winner(const tw_tuned *row)
{
    const char *texts[] = {row->device, row->kernel, row->program, row->types};
    char name[64], value[64];
    int64_t low, high;
    int divisor;
    fputs("    {", stdout);
    for (int i = 0; i < 4; i++) {
        c_string(texts[i]);
        fputs(", ", stdout);
    }
    fputs("\n     {", stdout);
    for (const char *at = row->shape; tw_shape_next(&at, name, &low, &high, &divisor);)
        printf("{\"%s\", %lld, %lld, %d}%s", name, (long long)low, (long long)high, divisor,
               *at ? ", " : "");
    fputs(*row->shape ? "},\n     {" : "{0}},\n     {", stdout);
    for (const char *at = row->tune; next_pair(&at, name, value);)
        printf("{\"%s\", %s}%s", name, value, *at ? ", " : "");
    printf("%s},\n     %.6g},\n", *row->tune ? "" : "{0}", row->milliseconds);
}

static int export_winners(struct store_command *c, const char *form)
{
    bool as_c = strcmp(form, "c") == 0;
    int winners = 0;
    if (!as_c && strcmp(form, "json") != 0)
        return usage_error(NULL, c->self, "--export %s: there are c and json", form);
    int status = find_rows(c);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < c->count; i++)
        winners += is_winner(c, i);
    if (winners == 0) {
        complain(NULL, "nothing is stored%s%s in %s", c->filter.kernel ? " of " : "",
                 c->filter.kernel ? c->filter.kernel : "", tw_store_path(c->store));
        return STATUS_FAILED;
    }
    if (as_c)
        c_types(c);
    for (int i = 0; i < c->count; i++)
        if (is_winner(c, i)) {
            if (as_c)
                c_winner(tw_store_at(c->store, i));
            else
                export_line(tw_store_at(c->store, i));
        }
    if (as_c)
        printf("};\nenum { tilewright_winner_count = %d };\n\n#endif\n", winners);
    return STATUS_OK;
}

/* --- the three --- */

static int act(struct store_command *c)
{
    if (options_has(c->given, "list"))
        return list(c);
    if (options_has(c->given, "forget"))
        return forget(c);
    return export_winners(c, options_value(c->given, "export"));
}

int tune_store_command(const struct command *self, const struct options *given)
{
    struct store_command c = {.self = self, .given = given};
    int status = open_filter(&c);
    if (status == STATUS_OK) {
        filter_device(&c);
        tw_status s = tw_store_open(c.ctx, options_value(given, "store"), &c.store);
        if (s != TW_OK)
            complain_library(NULL, c.ctx, s);
        status = s == TW_OK ? act(&c) : STATUS_FAILED;
    }
    program_close(&c.program);
    return status;
}
