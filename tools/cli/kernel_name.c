#include "cli/kernel_name.h"
#include "cli/mangled.h"
#include "cli/tool.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SEEN = 64, MOST_DEPTH = 32, MOST_LENGTH = 1 << 14 };

struct reader {
    const char *at;
    char *seen[MOST_SEEN]; /* texts for `S_`, `S0_`, … */
    int count, depth;
    char *arguments[MOST_SEEN]; /* of the function's template, for `T_`, `T0_`, … */
    int argument_count;
    bool in_name;  /* of the function: its template arguments are kept */
    size_t length; /* of all substituted texts: each may double the last */
    bool failed;
};

/* Returned texts are empty after a failure; the caller frees them. */
static char *read_type(struct reader *r);
static char *read_arguments(struct reader *r);

static char *fail(struct reader *r)
{
    r->failed = true;
    return need_text("%s", "");
}

static bool accept(struct reader *r, char c)
{
    bool is_there = !r->failed && *r->at == c;
    r->at += is_there;
    return is_there;
}

static void keep(struct reader *r, const char *text)
{
    if (r->count == MOST_SEEN || strlen(text) > MOST_LENGTH)
        r->failed = true;
    else
        r->seen[r->count++] = need_text("%s", text);
}

/* Reads "_", "0_" … "Z_", "10_" and returns a copy of the text with that number, 0, 1, …. */
static char *read_numbered(struct reader *r, char *const *texts, int count)
{
    char *end = NULL;
    bool is_first = *r->at == '_',
         is_digit = isdigit((unsigned char)*r->at) || isupper((unsigned char)*r->at);
    long number = is_first ? 0 : is_digit ? 1 + strtol(r->at, &end, 36) : -1;
    if (end)
        r->at = end;
    if (!accept(r, '_') || number < 0 || number >= count)
        return fail(r);
    r->length += strlen(texts[number]);
    return r->length <= MOST_LENGTH ? need_text("%s", texts[number]) : fail(r);
}

/* Reads a substitution: "S_" is the first text, then "S0_"; "St" is std. */
static char *seen_before(struct reader *r)
{
    return accept(r, 't') ? need_text("std") : read_numbered(r, r->seen, r->count);
}

/* Reads a template parameter after T: "T_" is the first argument, then "T0_". */
static char *read_parameter(struct reader *r)
{
    char *text = read_numbered(r, r->arguments, r->argument_count);
    keep(r, text);
    return text;
}

/* "5scale" */
static char *read_word(struct reader *r)
{
    char *end;
    unsigned long length = isdigit((unsigned char)*r->at) ? strtoul(r->at, &end, 10) : 0;
    if (!length || length > strlen(end))
        return fail(r);
    bool unnamed = strncmp(end, "_GLOBAL__N_", strlen("_GLOBAL__N_")) == 0;
    r->at = end + length;
    return unnamed ? need_text("(anonymous namespace)") : need_text("%.*s", (int)length, end);
}

/* Reads a nested name after N, up to E: "2ns5scaleIfE". Each of its prefixes, but not the whole,
 * may be substituted later. */
static char *read_nested(struct reader *r)
{
    char *name = NULL;
    while (!r->failed && *r->at && strchr("rVK", *r->at))
        r->at++;
    while (!r->failed && !accept(r, 'E')) {
        bool again = !name && accept(r, 'S');
        char *part = again ? seen_before(r) : *r->at == 'I' ? read_arguments(r) : read_word(r);
        bool is_list = *part == '<';
        append_text(&name, "%s%s", name && !is_list ? "::" : "", part);
        free(part);
        if (!again && *r->at != 'E')
            keep(r, name);
    }
    return name ? name : fail(r);
}

/* "Li4E", "Lb1E", "LN2ns1EE1E" */
static char *read_literal(struct reader *r)
{
    bool is_bool = *r->at == 'b', is_number = islower((unsigned char)*r->at);
    char *type = read_type(r), *text = NULL;
    bool negative = accept(r, 'n');
    int digits = (int)strspn(r->at, "0123456789");
    const char *value = r->at;
    r->at += digits;
    if (!digits || !accept(r, 'E'))
        text = fail(r);
    else if (is_bool)
        text = need_text("%s", *value == '0' ? "false" : "true");
    else if (is_number)
        text = need_text("%s%.*s", negative ? "-" : "", digits, value);
    else
        text = need_text("(%s)%s%.*s", type, negative ? "-" : "", digits, value);
    free(type);
    return text;
}

/* Reads a list up to E; returns its items separated by commas. */
static char *read_list(struct reader *r)
{
    char *list = NULL;
    if (r->failed || ++r->depth > MOST_DEPTH)
        return fail(r);
    while (!r->failed && !accept(r, 'E')) {
        char *one = accept(r, 'L') ? read_literal(r) : accept(r, 'J') ? read_list(r) : read_type(r);
        append_text(&list, "%s%s", list && *one ? ", " : "", one);
        if (r->in_name && r->depth == 1 && r->argument_count < MOST_SEEN)
            r->arguments[r->argument_count++] = one;
        else
            free(one);
    }
    r->depth--;
    return list ? list : need_text("%s", "");
}

/* "IfLi4EE" */
static char *read_arguments(struct reader *r)
{
    char *list = accept(r, 'I') ? read_list(r) : fail(r), *text = need_text("<%s>", list);
    free(list);
    return text;
}

/* Reads a type with a name: "6__half", "N2ns1AE", "1BIfE", "S0_", "S0_IfE". */
static char *read_named(struct reader *r)
{
    bool again = accept(r, 'S');
    char *name = again ? seen_before(r) : accept(r, 'N') ? read_nested(r) : read_word(r);
    if (again && strcmp(name, "std") == 0) {
        char *word = read_word(r);
        append_text(&name, "::%s", word);
        free(word);
        again = false;
    }
    if (!again)
        keep(r, name);
    if (*r->at == 'I' && !r->failed) {
        char *list = read_arguments(r);
        append_text(&name, "%s", list);
        free(list);
        keep(r, name);
    }
    return name;
}

/* Reads a type after "P", "R", "O", "K" or "V". */
static char *read_derived(struct reader *r, char kind)
{
    char *inner = read_type(r), *text;
    bool is_pointer = ends_with(inner, "*") || ends_with(inner, "&");
    const char *word = kind == 'K' ? "const" : "volatile";
    if (kind == 'P' || kind == 'R' || kind == 'O')
        text = need_text("%s%s", inner, kind == 'P' ? "*" : kind == 'R' ? "&" : "&&");
    else
        text = is_pointer ? need_text("%s %s", inner, word) : need_text("%s %s", word, inner);
    free(inner);
    keep(r, text);
    return text;
}

static char *read_type(struct reader *r)
{
    const char *number = c_number_of(*r->at);
    char *text;
    if (r->failed || ++r->depth > MOST_DEPTH)
        return fail(r);
    if (number || *r->at == 'v') {
        text = need_text("%s", number ? number : "void");
        r->at++;
    } else if (*r->at && strchr("PROKV", *r->at)) {
        char kind = *r->at++;
        text = read_derived(r, kind);
    } else if (accept(r, 'T')) {
        text = read_parameter(r);
    } else {
        text = read_named(r);
    }
    r->depth--;
    return text;
}

static char *read_name(struct reader *r)
{
    if (accept(r, 'N'))
        return read_nested(r);
    accept(r, 'L'); /* a static function */
    char *name = read_word(r);
    if (*r->at == 'I' && !r->failed) {
        keep(r, name);
        char *list = read_arguments(r);
        append_text(&name, "%s", list);
        free(list);
    }
    return name;
}

/* Reads the name of a symbol. The caller frees it and calls end_reader. */
static char *begin_symbol(struct reader *r, const char *symbol)
{
    bool is_mangled = strncmp(symbol, "_Z", 2) == 0;
    *r = (struct reader){.at = symbol + 2 * is_mangled, .failed = !is_mangled, .in_name = true};
    char *name = read_name(r);
    r->in_name = false;
    return name;
}

static void end_reader(struct reader *r)
{
    for (int i = 0; i < r->count; i++)
        free(r->seen[i]);
    for (int i = 0; i < r->argument_count; i++)
        free(r->arguments[i]);
}

char *kernel_name(const char *symbol)
{
    struct reader r;
    char *name = begin_symbol(&r, symbol);
    end_reader(&r);
    if (!r.failed)
        return name;
    free(name);
    return NULL;
}

char **kernel_parameters(const char *symbol, int count)
{
    struct reader r;
    char *name = begin_symbol(&r, symbol),
         **types = need_memory(((size_t)count + 1) * sizeof *types);
    int found = 0;
    if (ends_with(name, ">")) /* a template's instance has its result's type first */
        free(read_type(&r));
    while (!r.failed && *r.at && *r.at != '.' && found < count)
        types[found++] = read_type(&r);
    bool whole = !r.failed && found == count && (!*r.at || *r.at == '.' || !count);
    end_reader(&r);
    free(name);
    if (whole)
        return types;
    for (int i = 0; i < found; i++)
        free(types[i]);
    free(types);
    return NULL;
}

/* --- comparing --- */

/* Returns the text without blanks between words, and with one spelling for a type that has two.
 * The caller frees. */
static char *compact(const char *text)
{
    char *out = need_text("%s", text), *to = out;
    for (const char *at = text; *at; at++)
        if (!isspace((unsigned char)*at))
            *to++ = *at;
    *to = '\0';
    for (char *at = out; (at = strstr(at, "unsignedint"));)
        memmove(at + strlen("unsigned"), at + strlen("unsignedint"),
                strlen(at + strlen("unsignedint")) + 1);
    return out;
}

/* Returns the first place, from `at` on, of a mark outside angle brackets, or NULL if there is
 * none. */
static char *outside(char *at, const char *mark)
{
    int depth = 0;
    for (; *at; at++) {
        if (!depth && strncmp(at, mark, strlen(mark)) == 0)
            return at;
        depth += (*at == '<') - (*at == '>');
    }
    return NULL;
}

/* Removes the parameters, and the `void` before the name. */
static const char *bare(char *text)
{
    char *open = outside(text, "(");
    if (open && strncmp(open, "(anonymous", strlen("(anonymous")) == 0)
        open = outside(open + 1, "(");
    if (open)
        *open = '\0';
    return strncmp(text, "void", 4) == 0 && text[4] && open ? text + 4 : text;
}

bool kernel_name_is(const char *name, const char *text)
{
    char *have = compact(name), *given = compact(text);
    const char *wanted = bare(given);
    size_t length = strlen(wanted);
    bool found = false;
    for (char *at = have; at && !found; at = outside(at, "::"), at = at ? at + 2 : NULL)
        found = length && strncmp(at, wanted, length) == 0 &&
                (!at[length] || (at[length] == '<' && !outside(at + length, "::")));
    free(given);
    free(have);
    return found;
}

bool kernel_names_equal(const char *a, const char *b)
{
    char *x = compact(a), *y = compact(b);
    bool same = strcmp(x, y) == 0;
    free(x);
    free(y);
    return same;
}
