/* Reads tuned values from a file: a line of JSON for each class of launches,
 *
 *   {"kernel": "matmul_v4", "types": {"T": "f16"}, "device": "NVIDIA H200", "target": "sm_90",
 *    "class": {"m": [1, 128], "n": [4096, 4096, 16]}, "tune": {"BM": 128, "BN": 64}}
 *
 * `kernel` and `tune` are required. A range is [least, most], both inclusive; null means no
 * limit, and a third number 16 means multiples of 16 only. `program` identifies the text of the
 * kernel that was measured. A family chooses by `sizes`, {"m": 16, "n": 4096}, and `ms`. Other keys of
 * `tune --export json` are ignored. */
#include "build/build.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Position within one line. `bad` is the first error. */
struct cursor {
    const char *at, *bad;
};

static char peek(struct cursor *c)
{
    while (isspace((unsigned char)*c->at))
        c->at++;
    return *c->at;
}

static void fail(struct cursor *c, const char *what)
{
    if (!c->bad)
        c->bad = what;
}

static bool accept(struct cursor *c, char what)
{
    bool is = !c->bad && peek(c) == what;
    c->at += is;
    return is;
}

/* Reads a string. Escapes are limited to single characters, because names need no others. */
static char *read_string(struct cursor *c)
{
    char *text = NULL;
    if (!accept(c, '"')) {
        fail(c, "expected a string");
        return NULL;
    }
    append_text(&text, "%s", "");
    for (; *c->at && *c->at != '"'; c->at++) {
        c->at += *c->at == '\\' && c->at[1];
        append_text(&text, "%c", *c->at);
    }
    if (!accept(c, '"'))
        fail(c, "a string does not end");
    return text;
}

/* Reads a number, true or false as written, or the text of a string. */
static void read_scalar(struct cursor *c, char *out, size_t size)
{
    size_t length = 0;
    out[0] = '\0';
    if (peek(c) == '"') {
        char *text = read_string(c);
        length = text ? strlen(text) : 0;
        if (length < size)
            memcpy(out, text ? text : "", length + 1);
        free(text);
    } else {
        length = strcspn(c->at, " \t\r,]}");
        if (length < size) {
            memcpy(out, c->at, length);
            out[length] = '\0';
        }
        c->at += length;
    }
    if (length == 0 || length >= size)
        fail(c, "expected a number or a name");
}

static void skip_value(struct cursor *c)
{
    int depth = 0;
    do {
        char now = peek(c);
        if (now == '"')
            free(read_string(c));
        else if (now)
            c->at++;
        depth += (now == '{' || now == '[') - (now == '}' || now == ']');
        if (!now)
            fail(c, "the line ends within a value");
    } while (!c->bad && (depth > 0 || (*c->at && !strchr(",}] \t\r", *c->at))));
}

/* Reads an object. Calls member(user, c, key) for each key; `member` reads the value. */
static void read_object(struct cursor *c,
                        void (*member)(void *user, struct cursor *c, const char *key), void *user)
{
    if (!accept(c, '{')) {
        fail(c, "expected `{`");
        return;
    }
    while (!c->bad && !accept(c, '}')) {
        char *key = read_string(c);
        if (!accept(c, ':'))
            fail(c, "expected `:`");
        if (!c->bad)
            member(user, c, key);
        free(key);
        if (!c->bad && !accept(c, ',') && peek(c) != '}')
            fail(c, "expected `,` or `}`");
    }
}

static bool copy_name(struct cursor *c, char out[64], const char *key, int count)
{
    if (strlen(key) >= 64 || count >= TUNED_NAMES)
        fail(c, "a name is too long, or there are too many");
    else
        strcpy(out, key);
    return !c->bad;
}

static void read_assignment(struct cursor *c, const char *key, struct assignment *list, int *count)
{
    struct assignment *a = &list[*count];
    if (!copy_name(c, a->name, key, *count))
        return;
    read_scalar(c, a->value, sizeof a->value);
    ++*count;
}

static void type_member(void *user, struct cursor *c, const char *key)
{
    struct tuned_entry *e = user;
    read_assignment(c, key, e->types, &e->type_count);
}

static void tune_member(void *user, struct cursor *c, const char *key)
{
    struct tuned_entry *e = user;
    tw_value v;
    peek(c);
    const char *start = c->at;
    read_assignment(c, key, e->tunes, &e->tune_count);
    if (c->bad || parse_scalar(e->tunes[e->tune_count - 1].value, &v))
        return;
    c->at = start;
    fail(c, "a tuned value is a number");
}

static void size_member(void *user, struct cursor *c, const char *key)
{
    struct tuned_entry *e = user;
    read_assignment(c, key, e->sizes, &e->size_count);
}

static int64_t read_end(struct cursor *c, int64_t open)
{
    char text[64];
    int64_t v = open;
    read_scalar(c, text, sizeof text);
    if (strcmp(text, "null") != 0 && !parse_integer(text, &v))
        fail(c, "expected an integer or null");
    return v;
}

static void range_member(void *user, struct cursor *c, const char *key)
{
    struct tuned_entry *e = user;
    struct tuned_range *r = &e->ranges[e->range_count];
    if (!copy_name(c, r->name, key, e->range_count))
        return;
    *r = (struct tuned_range){0};
    strcpy(r->name, key);
    if (!accept(c, '['))
        fail(c, "expected `[`, a range");
    r->low = read_end(c, INT64_MIN);
    if (!accept(c, ','))
        fail(c, "expected `,` and where the range ends");
    r->high = read_end(c, INT64_MAX);
    if (accept(c, ','))
        r->divisible = read_end(c, 1) == 16;
    if (!accept(c, ']'))
        fail(c, "expected `]`");
    e->range_count++;
}

static void read_optional(struct cursor *c, char **out)
{
    if (peek(c) == 'n') {
        skip_value(c);
        return;
    }
    free(*out);
    *out = read_string(c);
}

static bool is_one_of(const char *const *names, const char *key)
{
    for (; *names; names++)
        if (strcmp(*names, key) == 0)
            return true;
    return false;
}

static void entry_member(void *user, struct cursor *c, const char *key)
{
    static const char *const of_no_weight[] = {"sizes", "ms", "version", NULL};
    struct tuned_entry *e = user;
    if (strcmp(key, "kernel") == 0)
        read_optional(c, &e->kernel);
    else if (strcmp(key, "device") == 0)
        read_optional(c, &e->device);
    else if (strcmp(key, "target") == 0)
        read_optional(c, &e->target);
    else if (strcmp(key, "program") == 0)
        read_optional(c, &e->program);
    else if (strcmp(key, "types") == 0)
        read_object(c, type_member, e);
    else if (strcmp(key, "class") == 0)
        read_object(c, range_member, e);
    else if (strcmp(key, "tune") == 0)
        read_object(c, tune_member, e);
    else if (strcmp(key, "sizes") == 0 && peek(c) == '{')
        read_object(c, size_member, e);
    else if (strcmp(key, "ms") == 0 && isdigit((unsigned char)peek(c)))
        read_scalar(c, e->ms, sizeof e->ms);
    else if (is_one_of(of_no_weight, key))
        skip_value(c);
    else
        fail(c, "there is no such member: there are kernel, types, device, target, program, class, "
                "tune; sizes, ms, version");
}

/* --- the file --- */

static int read_line(struct tuned *t, const char *line, int number)
{
    struct cursor c = {.at = line};
    if (peek(&c) == '\0' || peek(&c) == '#')
        return STATUS_OK;
    struct tuned_entry *e = ADD_NEW(t->list, t->count);
    *e = (struct tuned_entry){.line = number};
    read_object(&c, entry_member, e);
    if (!c.bad && peek(&c))
        fail(&c, "expected one object on the line");
    if (!c.bad && (!e->kernel || !e->tune_count))
        fail(&c, "`kernel` and `tune` must be there");
    if (!c.bad)
        return STATUS_OK;
    complain(NULL, "%s:%d:%d: %s", t->path, number, (int)(c.at - line) + 1, c.bad);
    return STATUS_USAGE;
}

static int multiples_of(const struct tuned_entry *e)
{
    int count = 0;
    for (int i = 0; i < e->range_count; i++)
        count += e->ranges[i].divisible;
    return count;
}

/* Moves the classes for multiples of 16 to the front, because the other classes cover the
 * remaining sizes. The order is otherwise unchanged. */
static void put_multiples_first(struct tuned *t)
{
    for (int i = 1; i < t->count; i++) {
        struct tuned_entry e = t->list[i];
        int at = i;
        for (; at > 0 && multiples_of(&t->list[at - 1]) < multiples_of(&e); at--)
            t->list[at] = t->list[at - 1];
        t->list[at] = e;
    }
}

/* First bytes of SQLite's files (sqlite.org/fileformat.html, 1.3.1); stores are such files. */
#define STORE_BEGINS "SQLite format 3"

int tuned_read(struct tuned *t, const char *path)
{
    *t = (struct tuned){.path = path};
    char *text = path ? read_whole_file(path, NULL) : NULL, *rest = text;
    int status = STATUS_OK;
    if (path && !text) {
        complain(NULL, "cannot read `%s`: %s", path, strerror(errno));
        return STATUS_USAGE;
    }
    if (text && strncmp(text, STORE_BEGINS, strlen(STORE_BEGINS)) == 0) {
        complain(
            NULL,
            "--tuned %s: a store, not lines of JSON: `tilewright tune --export json --store %s "
            "> tuned.jsonl` writes what is in it as lines",
            path, path);
        status = STATUS_USAGE;
    }
    for (int number = 1; rest && *rest && status == STATUS_OK; number++) {
        char *line = rest;
        rest += strcspn(rest, "\n");
        if (*rest)
            *rest++ = '\0';
        status = read_line(t, line, number);
    }
    free(text);
    put_multiples_first(t);
    return status;
}

/* --- what came of it --- */

void tuned_reached(struct tuned_entry *e, enum tuned_fate fate)
{
    e->fate = fate > e->fate ? fate : e->fate;
}

static const char *reason(enum tuned_fate fate)
{
    switch (fate) {
    case TUNED_NO_KERNEL: return "its kernel is not built";
    case TUNED_OF_HOST: return "it was measured on the CPU, not on a GPU";
    case TUNED_NO_TARGET: return "its target is not built (--device)";
    case TUNED_NO_TYPES: return "its types are not built";
    case TUNED_OTHER_PROGRAM:
        return "its `program` is another text of the kernel: tune again, or leave `program` out";
    case TUNED_NO_TIME:
        return "a family chooses by `device`, `sizes` and `ms`, and one of them is missing";
    case TUNED_NO_CLASS: return "no version that is built is of its class";
    case TUNED_DOES_NOT_FIT: return "its values fit no target that is built";
    case TUNED_BUILT: break;
    }
    return NULL;
}

/* Returns the first entry after `line`, in the order of the file, or NULL. */
static const struct tuned_entry *next_line(const struct tuned *t, int line)
{
    const struct tuned_entry *next = NULL;
    for (int i = 0; i < t->count; i++)
        if (t->list[i].line > line && (!next || t->list[i].line < next->line))
            next = &t->list[i];
    return next;
}

void tuned_say_unused(const struct tuned *t)
{
    if (t->path && t->count == 0)
        complain(NULL, "%s has no line with tuned values", t->path);
    for (const struct tuned_entry *e = NULL; (e = next_line(t, e ? e->line : 0));)
        if (e->fate != TUNED_BUILT)
            complain(NULL, "%s:%d: left out: %s", t->path, e->line, reason(e->fate));
}

void tuned_free(struct tuned *t)
{
    for (int i = 0; i < t->count; i++) {
        free(t->list[i].kernel);
        free(t->list[i].device);
        free(t->list[i].target);
        free(t->list[i].program);
    }
    free(t->list);
    *t = (struct tuned){0};
}
