#include "ptx/param_names.h"
#include "cli/tool.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- tokens: identifiers, and single characters for all else --- */

struct token {
    const char *text;
    size_t length; /* 0: the end */
};

static const char *skip_quotes(const char *at)
{
    char quote = *at++;
    while (*at && *at != quote && *at != '\n')
        at += *at == '\\' && at[1] ? 2 : 1;
    return *at == quote ? at + 1 : at;
}

static const char *skip_comment(const char *at)
{
    if (at[1] == '/')
        return at + strcspn(at, "\n");
    const char *end = strstr(at + 2, "*/");
    return end ? end + 2 : at + strlen(at);
}

static bool starts_name(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static struct token next(const char **at)
{
    const char *p = *at;
    for (;;) {
        if (isspace((unsigned char)*p))
            p++;
        else if (*p == '/' && (p[1] == '/' || p[1] == '*'))
            p = skip_comment(p);
        else if (*p == '"' || *p == '\'')
            p = skip_quotes(p);
        else
            break;
    }
    struct token t = {p, *p != 0};
    while (starts_name(*p) && (isalnum((unsigned char)p[t.length]) || p[t.length] == '_'))
        t.length++;
    if (isdigit((unsigned char)*p)) /* 1'000'000u, 0x1p3f */
        while (isalnum((unsigned char)p[t.length]) ||
               (p[t.length] == '\'' && isalnum((unsigned char)p[t.length + 1])))
            t.length++;
    *at = p + t.length;
    return t;
}

static bool is(struct token t, const char *word)
{
    return t.length == strlen(word) && memcmp(t.text, word, t.length) == 0;
}

/* --- parameters --- */

static bool is_type_word(struct token t)
{
    static const char *const words[] = {
        "void",       "bool",   "char",     "short",  "int",      "long",     "float",
        "double",     "signed", "unsigned", "const",  "volatile", "restrict", "__restrict__",
        "__restrict", "half",   "size_t",   "struct", "enum",     "auto"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(t, words[i]))
            return true;
    return false;
}

struct parameter {
    const char *start; /* its first token; NULL: none yet */
    struct token name; /* last word of the declarator so far */
    int words;
    bool is_array; /* "c[4]", which is a pointer */
    bool over;     /* the default value follows */
};

static void take(struct parameter *p, struct token t, int inside)
{
    p->start = p->start ? p->start : t.text;
    p->over = p->over || is(t, "=");
    if (p->over || inside || !starts_name(*t.text) || is(t, "__grid_constant__"))
        return;
    p->name = t;
    p->words++;
}

/* Returns the parameter's name, or NULL if it has only a type, as in `int` and `view`. */
static char *name_of(const struct parameter *p)
{
    bool known = p->words > 1 && !is_type_word(p->name);
    return known ? need_text("%.*s", (int)p->name.length, p->name.text) : NULL;
}

static bool is_qualifier(struct token t)
{
    static const char *const words[] = {"__restrict__", "__restrict", "restrict",
                                        "__grid_constant__"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(t, words[i]))
            return true;
    return false;
}

/* Returns the tokens before the name, "const float *", or NULL if the parameter has no name. */
static char *type_of(const struct parameter *p)
{
    char *text = NULL;
    bool known = p->words > 1 && !is_type_word(p->name), after_word = false;
    const char *at = p->start;
    for (struct token t = next(&at); known && t.length && t.text < p->name.text; t = next(&at)) {
        if (is_qualifier(t))
            continue;
        bool is_word = starts_name(*t.text);
        bool apart = text && (is_word ? after_word : after_word && *t.text == '*');
        append_text(&text, "%s%.*s", apart ? " " : "", (int)t.length, t.text);
        after_word = is_word;
    }
    if (text && p->is_array)
        append_text(&text, " *");
    return text;
}

/* Reads the names and types after "("; a parameter without a name gets NULL. Returns their number, or -1
 * if the text is not a parameter list. */
static int read_parameters(const char *at, int count, char **names, char **types)
{
    struct parameter p = {0};
    int found = 0, round = 0, square = 0, angle = 0;
    for (struct token t = next(&at); t.length; t = next(&at)) {
        bool ends = is(t, ")") && round == 0;
        if (ends || (is(t, ",") && !round && !square && !angle)) {
            if (ends && !found && (!p.words || (p.words == 1 && is(p.name, "void"))))
                return 0;
            if (found == count)
                return -1;
            types[found] = type_of(&p);
            names[found++] = name_of(&p);
            p = (struct parameter){0};
            if (ends)
                return found;
            continue;
        }
        round += is(t, "(") || is(t, "{");
        round -= is(t, ")") || is(t, "}");
        p.is_array = p.is_array || (is(t, "[") && !p.over && !angle);
        square += is(t, "[");
        square -= is(t, "]");
        angle += !p.over && is(t, "<");
        angle -= angle && is(t, ">");
        take(&p, t, square + angle);
    }
    return -1;
}

/* Returns the start of the function's parameters after `__global__`, or NULL if this is another
 * function. */
static const char *find_list(const char *at, const char *function)
{
    int depth = 0;
    bool named = false;
    for (struct token t = next(&at); t.length; t = next(&at)) {
        if (is(t, "(") && depth == 0 && named)
            return at;
        if (depth == 0 && (is(t, ";") || is(t, "{")))
            return NULL;
        depth += is(t, "(");
        depth -= is(t, ")");
        named = is(t, function);
    }
    return NULL;
}

static void merge(char **names, char **more, int count)
{
    for (int i = 0; i < count; i++) {
        if (!names[i]) {
            names[i] = more[i];
        } else if (more[i] && strcmp(names[i], more[i]) != 0) {
            free(names[i]);
            free(more[i]);
            names[i] = need_text("%s", "");
        } else {
            free(more[i]);
        }
    }
}

/* Keeps the types that are not known yet, and frees the others. */
static void merge_types(char **types, char **more, int count)
{
    for (int i = 0; i < count; i++)
        if (types[i])
            free(more[i]);
        else
            types[i] = more[i];
}

void param_names_in(const char *source, const char *function, int count, char **names, char **types)
{
    const char *at = source;
    char **found = need_memory(((size_t)count + 1) * sizeof *found);
    char **found_types = need_memory(((size_t)count + 1) * sizeof *found_types);
    for (struct token t = next(&at); t.length; t = next(&at)) {
        const char *list = is(t, "__global__") ? find_list(at, function) : NULL;
        if (!list)
            continue;
        memset(found, 0, (size_t)count * sizeof *found);
        memset(found_types, 0, (size_t)count * sizeof *found_types);
        if (read_parameters(list, count, found, found_types) == count) {
            merge(names, found, count);
            merge_types(types, found_types, count);
            continue;
        }
        for (int i = 0; i < count; i++) {
            free(found[i]);
            free(found_types[i]);
        }
    }
    free(found);
    free(found_types);
}
