#include "cli/mangled.h"
#include "cli/tool.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Number types; within a kind, the usual one comes first. */
static const struct {
    char letter;
    bool is_float;
    unsigned char bytes;
    const char *name;
} numbers[] = {
    {'f', true, 4, "float"},          {'d', true, 8, "double"},
    {'i', false, 4, "int"},           {'j', false, 4, "unsigned"},
    {'x', false, 8, "long long"},     {'y', false, 8, "unsigned long long"},
    {'l', false, 8, "long"},          {'m', false, 8, "unsigned long"},
    {'s', false, 2, "short"},         {'t', false, 2, "unsigned short"},
    {'a', false, 1, "signed char"},   {'c', false, 1, "char"},
    {'h', false, 1, "unsigned char"}, {'b', false, 1, "bool"},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers, MOST_SEEN = 64 };

const char *c_number_of(char letter)
{
    for (size_t i = 0; i < NUMBERS; i++)
        if (numbers[i].letter == letter)
            return numbers[i].name;
    return NULL;
}

const char *c_number_name(size_t bytes, bool is_float)
{
    for (size_t i = 0; i < NUMBERS; i++)
        if (numbers[i].bytes == bytes && numbers[i].is_float == is_float)
            return numbers[i].name;
    return NULL;
}

struct reader {
    const char *at;
    struct c_type seen[MOST_SEEN]; /* types for `S_`, `S0_`, … */
    int count;
    bool failed;
};

static struct c_type keep(struct reader *r, struct c_type t)
{
    if (r->count == MOST_SEEN)
        r->failed = true;
    else
        r->seen[r->count++] = t;
    return t;
}

/* Reads a substitution: "S_" is the first type, then "S0_" … "SZ_", "S10_". */
static struct c_type seen_before(struct reader *r)
{
    char *end;
    bool is_first = *++r->at == '_';
    long number = is_first ? 0 : 1 + strtol(r->at, &end, 36);
    if (!is_first)
        r->at = end;
    r->failed = r->failed || *r->at != '_' || number < 0 || number >= r->count;
    if (r->failed)
        return (struct c_type){0};
    r->at++;
    return r->seen[number];
}

static struct c_type named(struct reader *r)
{
    char *end;
    unsigned long length = strtoul(r->at, &end, 10);
    r->failed = r->failed || length > strlen(end);
    if (!r->failed)
        r->at = end + length;
    return (struct c_type){0};
}

static struct c_type read_type(struct reader *r)
{
    const char *from = r->at;
    while (*r->at && strchr("rVK", *r->at))
        r->at++;
    if (r->at > from)
        return keep(r, read_type(r));
    if (isdigit((unsigned char)*r->at))
        return keep(r, named(r));
    if (*r->at == 'S')
        return seen_before(r);
    if (*r->at == 'P') {
        r->at++;
        struct c_type t = read_type(r);
        if (t.is_pointer) /* to a pointer */
            t = (struct c_type){0};
        t.is_pointer = true;
        return keep(r, t);
    }
    for (size_t i = 0; i < NUMBERS; i++)
        if (*r->at == numbers[i].letter) {
            r->at++;
            return (struct c_type){numbers[i].name, numbers[i].bytes, numbers[i].is_float, false};
        }
    r->failed = true;
    return (struct c_type){0};
}

bool mangled_param(const char *symbol, int index, struct c_type *out)
{
    if (strncmp(symbol, "_Z", 2) != 0 || !isdigit((unsigned char)symbol[2]))
        return false;
    struct reader r = {.at = symbol + 2};
    named(&r);
    for (int i = 0; i <= index && !r.failed; i++)
        *out = read_type(&r);
    return !r.failed;
}

char *c_type_text(const struct c_type *t)
{
    return need_text("%s%s", t->name, t->is_pointer ? " *" : "");
}
