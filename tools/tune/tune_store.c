/* Commands on stored results: list, forget, export. */
#include "cli/settings.h"
#include "tune/tune.h"
#include "cli/tuned.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Condition on a row's sizes or types. */
struct wanted {
    bool is_type;
    struct assignment assignment; /* name "": any name */
};

struct store_command {
    const struct command *self;
    const struct options *given;
    struct program program; /* of FILE; without FILE, only a context */
    tw_context *ctx;
    tw_store *store;
    tw_tuned filter;
    struct known_kernel *kernels; /* of FILE */
    int kernel_count;             /* 0: all */
    char device[256];
    int wanted_count;
    struct wanted *wanted;
    int *rows; /* selected ones of those found */
    int count;
};

/* --- what is meant --- */

/* Refuses the options for tuning, which have no meaning here, instead of ignoring them. */
static int check_options(const struct store_command *c)
{
    static const char *const ways[] = {"list", "forget", "export", NULL};
    static const char *const of_tuning[] = {
        "tune",    "budget",   "timeout", "jobs",  "finalists", "exhaustive", "again", "known",
        "threads", "no-store", "json",    "table", "variants",  "stored",     NULL};
    const char *way = options_any(c->given, ways), *other = options_any(c->given, of_tuning);
    for (int i = 0; ways[i]; i++)
        if (options_has(c->given, ways[i]) && strcmp(ways[i], way) != 0)
            other = ways[i];
    if (other)
        return usage_error(NULL, c->self, "--%s takes no --%s", way, other);
    const char *form = options_value(c->given, "export");
    if (form && strcmp(form, "c") != 0 && strcmp(form, "json") != 0)
        return usage_error(NULL, c->self, "--export %s: there are c and json", form);
    return STATUS_OK;
}

/* Reads FILE[:KERNEL], which selects the results of that kernel for any version of its text. */
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
    tw_kernel *k = NULL;
    bool is_family = status == STATUS_OK && program_is_family(&c->program);
    if (status == STATUS_OK)
        k = is_family ? program_kernel_at(&c->program, 0) : program_kernel(&c->program, c->self);
    if (!k)
        return status == STATUS_OK ? STATUS_USAGE : status;
    c->kernels = need_memory(sizeof *c->kernels);
    c->kernels[c->kernel_count++] = (struct known_kernel){&c->program, k};
    c->filter.kernel = is_family ? NULL : tw_kernel_name(k);
    for (int i = 1; is_family && (k = program_kernel_at(&c->program, i)); i++) {
        NEED_ROOM(c->kernels, i);
        c->kernels[c->kernel_count++] = (struct known_kernel){&c->program, k};
    }
    return settings_known(c->kernels, c->kernel_count, c->given);
}

/* Returns " of NAME": the kernel, or the family; "" for all. The caller frees. */
static char *of_what(const struct store_command *c)
{
    const char *name = c->kernel_count == 0 ? ""
                       : c->program.family  ? tw_family_name(c->program.family)
                                            : tw_kernel_name(c->kernels[0].kernel);
    return need_text("%s%s", *name ? " of " : "", name);
}

static bool is_of_kernels(const struct store_command *c, const tw_tuned *row)
{
    bool found = c->kernel_count == 0;
    for (int i = 0; i < c->kernel_count; i++)
        found = found || strcmp(row->kernel, tw_kernel_name(c->kernels[i].kernel)) == 0;
    return found;
}

/* Reads --device: cpu, cuda, or a name from the store. */
static void filter_device(struct store_command *c)
{
    const char *device = options_value(c->given, "device");
    tw_device d = tw_device_init();
    c->filter.device = device;
    if (device && device_named(device, &d)) {
        bool is_host = strcmp(d.name, "cpu") == 0;
        snprintf(c->device, sizeof c->device, "%s", is_host ? d.description : d.model);
        c->filter.device = c->device;
    }
}

static void want(struct store_command *c, bool is_type, const struct assignment *a)
{
    ADD_TO(c->wanted, c->wanted_count, (struct wanted){is_type, *a});
}

/* Reads --set m=128 --type T=f16, or --type f16, which matches any type variable. */
static int read_wanted(struct store_command *c)
{
    for (int i = 0; i < c->given->use_count; i++) {
        const char *option = c->given->uses[i].spec->name, *at = c->given->uses[i].values[0];
        bool is_type = strcmp(option, "type") == 0, bad = false;
        struct assignment a = {0};
        if (!is_type && strcmp(option, "set") != 0)
            continue;
        if (is_type && !strchr(at, '=')) {
            snprintf(a.value, sizeof a.value, "%s", at);
            want(c, true, &a);
            continue;
        }
        while (next_assignment(&at, &a, &bad))
            want(c, is_type, &a);
        if (bad)
            return usage_error(NULL, c->self, "--%s %s: expected NAME=VALUE", option, at);
    }
    return STATUS_OK;
}

static bool same_value(const char *a, const char *b)
{
    tw_value x, y;
    return strcmp(a, b) == 0 || (parse_scalar(a, &x) && parse_scalar(b, &y) && same_scalar(x, y));
}

/* Returns whether the list "m=128,n=64" has the assignment `want`. */
static bool says(const char *list, const struct assignment *want)
{
    struct assignment a;
    bool bad;
    while (next_assignment(&list, &a, &bad))
        if ((!*want->name || strcmp(a.name, want->name) == 0) && same_value(a.value, want->value))
            return true;
    return false;
}

static bool is_meant(const struct store_command *c, const tw_tuned *row)
{
    if (!is_of_kernels(c, row))
        return false;
    for (int i = 0; i < c->wanted_count; i++)
        if (!says(c->wanted[i].is_type ? row->types : row->sizes, &c->wanted[i].assignment))
            return false;
    return true;
}

static int find_rows(struct store_command *c)
{
    int found;
    tw_status s = tw_store_find(c->store, &c->filter, &found);
    if (s != TW_OK) {
        complain_library(NULL, c->ctx, s);
        return STATUS_FAILED;
    }
    c->rows = need_memory((size_t)found * sizeof *c->rows);
    for (int i = 0; i < found; i++)
        if (is_meant(c, tw_store_at(c->store, i)))
            c->rows[c->count++] = i;
    return STATUS_OK;
}

/* Returns NULL if there is none. */
static const tw_tuned *row_at(const struct store_command *c, int index)
{
    return index < 0 || index >= c->count ? NULL : tw_store_at(c->store, c->rows[index]);
}

static bool same_subject(const tw_tuned *a, const tw_tuned *b)
{
    return strcmp(a->device, b->device) == 0 && strcmp(a->kernel, b->kernel) == 0 &&
           strcmp(a->program, b->program) == 0 && strcmp(a->types, b->types) == 0;
}

/* Returns whether row `i` begins new sizes. Rows are sorted by subject, class and sizes; within
 * these, right results come first, by time. */
static bool begins_sizes(const struct store_command *c, int i)
{
    const tw_tuned *row = row_at(c, i), *before = row_at(c, i - 1);
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
    print_text(stdout, "%s  %s%s%s  on %s  (program %s%s)\n", row->kernel, row->types,
               *row->types ? "  " : "", row->sizes, row->device, row->program,
               is_old(row) ? ", another version's" : "");
}

static void print_sizes(const struct store_command *c, int first)
{
    int right = 0, failed = 0;
    for (int i = first; i < c->count && (i == first || !begins_sizes(c, i)); i++) {
        right += row_at(c, i)->status == TW_OK;
        failed += row_at(c, i)->status != TW_OK;
    }
    const tw_tuned *best = row_at(c, first);
    print_heading(best);
    if (best->status == TW_OK)
        print_text(stdout, "  %.4g ms  %s%s(%d measured, %d failed)\n", best->milliseconds,
                   best->tune, *best->tune ? "  " : "", right, failed);
    else
        print_text(stdout, "  none is right (%d failed, %s%s%s)\n", failed, best->tune,
                   *best->tune ? ": " : "", best->why);
}

static int list(struct store_command *c)
{
    int status = find_rows(c);
    for (int i = 0; i < c->count; i++)
        if (begins_sizes(c, i))
            print_sizes(c, i);
    if (status != STATUS_OK || c->count > 0)
        return status;
    char *what = of_what(c);
    print_text(stdout, "nothing is stored%s in %s\n", what, tw_store_path(c->store));
    free(what);
    return status;
}

/* --- --forget --- */

/* Removes the selected results. Without FILE, removes only results of other versions of the
 * library. */
static int forget(struct store_command *c)
{
    int deleted = 0, count, status = find_rows(c);
    for (int i = 0; i < c->count; i++) {
        const tw_tuned *row = row_at(c, i);
        if (c->kernel_count == 0 && !is_old(row))
            continue;
        tw_status s = tw_store_forget(c->store, row, &count);
        if (s != TW_OK) {
            complain_library(NULL, c->ctx, s);
            return STATUS_FAILED;
        }
        deleted += count;
    }
    if (status == STATUS_OK)
        print_text(stdout, "%d result%s deleted from %s\n", deleted, deleted == 1 ? "" : "s",
                   tw_store_path(c->store));
    return status;
}

/* --- --export --- */

/* Reads the next "NAME=VALUE" of a row's text. */
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

static bool is_name(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return length > 0 && text[length] == '\0' && !strchr("0123456789", *text);
}

/* Returns whether a row's whole text is "NAME=VALUE,…" with numbers, or types, as values. */
static bool reads_whole(const char *text, bool is_types)
{
    struct assignment a;
    tw_value v;
    bool bad;
    while (next_assignment(&text, &a, &bad))
        if (!is_name(a.name) ||
            (is_types ? tw_dtype_from_name(a.value) == TW_DTYPE_NONE
                      : !parse_scalar(a.value, &v)) ||
            (!is_types && !isfinite(v.f)))
            return false;
    return !bad;
}

/* Returns whether a row can be exported. A damaged row, or one that another program wrote,
 * cannot. */
static bool is_whole(const tw_tuned *row)
{
    char name[64];
    int64_t low, high;
    int divisor;
    const char *shape = row->shape;
    while (tw_shape_next(&shape, name, &low, &high, &divisor))
        if (!is_name(name))
            return false;
    return !*shape && is_name(row->kernel) && reads_whole(row->types, true) &&
           reads_whole(row->sizes, false) && reads_whole(row->tune, false) &&
           isfinite(row->milliseconds);
}

/* Removes the rows that cannot be exported, and prints a note about them. */
static void keep_whole(struct store_command *c)
{
    int kept = 0;
    for (int i = 0; i < c->count; i++) {
        const tw_tuned *row = row_at(c, i);
        if (row->status != TW_OK || is_whole(row))
            c->rows[kept++] = c->rows[i];
        else
            complain(NULL,
                     "not exported: a result of %s, because its texts are not lists of names and "
                     "numbers: \"%s\", \"%s\", \"%s\" (--forget removes a kernel's stored results)",
                     row->kernel, row->shape, row->types, row->tune);
    }
    c->count = kept;
}

/* Returns whether row `i` is the winner of its class. If the class has several sizes, the sizes
 * measured last count. */
static bool is_winner(const struct store_command *c, int i)
{
    const tw_tuned *row = row_at(c, i);
    if (row->status != TW_OK || !*row->tune || !begins_sizes(c, i))
        return false;
    for (int j = 0; j < c->count; j++) {
        const tw_tuned *other = row_at(c, j);
        if (j == i || other->status != TW_OK || !begins_sizes(c, j) || !same_subject(row, other) ||
            strcmp(row->shape, other->shape) != 0)
            continue;
        if (other->measured > row->measured || (other->measured == row->measured && j < i))
            return false;
    }
    return true;
}

/* Begins an object, which takes one line: {"kernel": "matmul_v4", "types": {"T": "f16"},
 * "device": …, "class": {"m": [lo, hi, 16], …}, "sizes": {…}, "tune": {"BM": 128, …}, "ms": …}. */
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
        tw_value v;
        if (quoted || !parse_scalar(value, &v))
            json_string(j, value);
        else if (v.kind == TW_FLOAT)
            json_real(j, v.f);
        else
            json_integer(j, v.i);
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
        json_open_numbers(j, name);
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
    json_put_text(&j, "kernel", row->kernel);
    line_pairs(&j, "types", row->types, true);
    json_put_text(&j, "device", row->device);
    if (tuned_of_host(row->device)) { /* another machine would not know its name */
        json_put_text(&j, "target", "cpu");
    }
    json_put_text(&j, "program", row->program);
    line_class(&j, row->shape);
    line_pairs(&j, "sizes", row->sizes, false);
    line_pairs(&j, "tune", row->tune, false);
    json_put_real(&j, "ms", row->milliseconds);
    json_put_text(&j, "version", row->version);
    line_close(&j, '}');
    json_end(&j);
}

static void c_string(const char *text)
{
    putchar('"');
    for (const char *c = text; *c; c++) {
        if (strchr("\"\\?", *c)) /* "??" might begin a trigraph */
            putchar('\\');
        unsigned char byte = (unsigned char)*c;
        if (byte < ' ' || byte > '~') /* terminals may obey other bytes, or reverse the text */
            printf("\\%03o", (unsigned)byte); /* ends after three digits */
        else
            putchar(*c);
    }
    putchar('"');
}

/* Returns the largest number of names in a winner's text; at least 1, because C has no empty
 * arrays. */
static int most_names(const struct store_command *c, bool tuned)
{
    int most = 1;
    for (int i = 0; i < c->count; i++) {
        const tw_tuned *row = row_at(c, i);
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
    char name[64], value[64], number[64];
    tw_value v;
    int64_t low, high;
    int divisor;
    fputs("    {", stdout);
    for (int i = 0; i < 4; i++) {
        c_string(texts[i]);
        fputs(i < 3 ? ", " : ",", stdout);
    }
    fputs("\n     {", stdout);
    for (const char *at = row->shape; tw_shape_next(&at, name, &low, &high, &divisor);)
        printf("{\"%s\", %lld, %lld, %d}%s", name, (long long)low, (long long)high, divisor,
               *at ? ", " : "");
    fputs(*row->shape ? "},\n     {" : "{0}},\n     {", stdout);
    for (const char *at = row->tune; next_pair(&at, name, value) && parse_scalar(value, &v);) {
        format_scalar(number, sizeof number, v, TW_DTYPE_NONE);
        printf("{\"%s\", %s}%s", name, number, *at ? ", " : "");
    }
    printf("%s},\n     %.6g},\n", *row->tune ? "" : "{0}", row->milliseconds);
}

static int export_winners(struct store_command *c, const char *form)
{
    bool as_c = strcmp(form, "c") == 0;
    int winners = 0;
    int status = find_rows(c);
    if (status != STATUS_OK)
        return status;
    keep_whole(c);
    for (int i = 0; i < c->count; i++)
        winners += is_winner(c, i);
    if (winners == 0) {
        char *what = of_what(c);
        complain(NULL, "nothing is stored%s in %s", what, tw_store_path(c->store));
        free(what);
        return STATUS_FAILED;
    }
    if (as_c)
        c_types(c);
    for (int i = 0; i < c->count; i++)
        if (is_winner(c, i)) {
            if (as_c)
                c_winner(row_at(c, i));
            else
                export_line(row_at(c, i));
        }
    if (as_c)
        printf("};\nenum { tilewright_winner_count = %d };\n\n#endif\n", winners);
    return STATUS_OK;
}

/* --- the three --- */

/* Reports that no store exists yet at the place of the store. */
static int nothing_yet(const struct store_command *c)
{
    tw_message m = tw_message_init();
    if (options_has(c->given, "export") || !tw_context_message(c->ctx, 0, &m)) {
        complain_library(NULL, c->ctx, TW_NOT_FOUND);
        return STATUS_FAILED;
    }
    printf("%s\n", m.text);
    return STATUS_OK;
}

static int act(struct store_command *c)
{
    if (options_has(c->given, "list"))
        return list(c);
    if (options_has(c->given, "forget"))
        return forget(c);
    return export_winners(c, options_value(c->given, "export"));
}

static int open_and_act(struct store_command *c)
{
    tw_status s = tw_store_open_existing(c->ctx, options_value(c->given, "store"), &c->store);
    if (s == TW_OK)
        return act(c);
    if (s == TW_NOT_FOUND)
        return nothing_yet(c);
    complain_library(NULL, c->ctx, s);
    return STATUS_USAGE;
}

int tune_store_command(const struct command *self, const struct options *given)
{
    struct store_command c = {.self = self, .given = given, .filter = tw_tuned_init()};
    int status = check_options(&c);
    if (status == STATUS_OK)
        status = open_filter(&c);
    if (status == STATUS_OK)
        status = read_wanted(&c);
    if (status == STATUS_OK) {
        filter_device(&c);
        status = open_and_act(&c);
    }
    program_close(&c.program);
    free(c.kernels);
    free(c.wanted);
    free(c.rows);
    return status;
}
