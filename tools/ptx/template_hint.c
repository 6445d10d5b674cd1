#include "ptx/template_hint.h"
#include "cli/tool.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMETERS = 8, LONGEST = 400 };

struct template_parameter {
    const char *name;
    size_t length;
    const char *value;
};

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *find_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || !in_name(at[-1])) && !in_name(at[length]))
            return at;
    return NULL;
}

/* Reads one parameter: "typename T", "int N". Returns false for any other form. */
static bool read_parameter(const char *at, size_t length, struct template_parameter *p)
{
    static const struct {
        const char *word, *value;
    } kinds[] = {{"typename", "float"}, {"class", "float"}, {"int", "64"},
                 {"unsigned", "64"},    {"size_t", "64"},   {"bool", "true"}};
    const char *end = at + length;
    while (at < end && isspace((unsigned char)*at))
        at++;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t word = strlen(kinds[i].word);
        if ((size_t)(end - at) <= word || strncmp(at, kinds[i].word, word) != 0 ||
            !isspace((unsigned char)at[word]))
            continue;
        p->name = at + word + strspn(at + word, " \t\n");
        p->length = (size_t)(end - p->name);
        p->value = kinds[i].value;
        for (size_t k = 0; k < p->length; k++)
            if (!in_name(p->name[k]))
                return false;
        return p->length > 0;
    }
    return false;
}

/* Reads the list between `at` and `end`. Returns the number of parameters, or 0. */
static int read_list(const char *at, const char *end, struct template_parameter *list)
{
    int count = 0;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        if (count == MOST_PARAMETERS || !read_parameter(at, (size_t)(stop - at), &list[count++]))
            return 0;
        at = stop + 1;
    }
    return count;
}

/* Appends the text with the parameters' values for their names, and one blank for each space. */
static void append_with(char **out, const char *at, const char *end,
                        const struct template_parameter *list, int count)
{
    while (at < end) {
        size_t length = 1;
        while (in_name(*at) && at + length < end && in_name(at[length]))
            length++;
        const char *value = NULL;
        for (int i = 0; i < count; i++)
            if (list[i].length == length && memcmp(list[i].name, at, length) == 0)
                value = list[i].value;
        if (isspace((unsigned char)*at)) {
            length = strspn(at, " \t\r\n");
            value = " ";
        }
        if (value)
            append_text(out, "%s", value);
        else
            append_text(out, "%.*s", (int)length, at);
        at += length;
    }
}

/* Returns the line for a template whose parameters it knows; NULL: others. */
static char *exact_hint(const char *text, const char *name)
{
    struct template_parameter list[MOST_PARAMETERS];
    const char *global = strstr(text, "__global__"), *start = NULL;
    for (const char *at = text; global && (at = find_word(at, "template")) && at < global; at++)
        start = at;
    const char *open = start ? start + 8 + strspn(start + 8, " \t\r\n") : NULL;
    const char *close = open && *open == '<' ? strchr(open, '>') : NULL;
    const char *here = global ? find_word(global, name) : NULL;
    const char *round = here ? here + strlen(name) + strspn(here + strlen(name), " \t\r\n") : NULL;
    const char *end = round && *round == '(' ? strchr(round, ')') : NULL;
    if (!close || close > global || !end || end - round > LONGEST ||
        strcspn(round + 1, "(=/") < (size_t)(end - round - 1))
        return NULL;
    int count = read_list(open + 1, close, list);
    if (!count)
        return NULL;
    char *line = need_text("template __global__ void %s<", name);
    for (int i = 0; i < count; i++)
        append_text(&line, "%s%s", i ? ", " : "", list[i].value);
    append_text(&line, ">");
    append_with(&line, round, end + 1, list, count);
    append_text(&line, ";");
    return line;
}

char *template_hint(const char *text, const char *name)
{
    char *exact = exact_hint(text, name);
    return exact ? exact : need_text("template __global__ void %s<TYPE, …>(PARAMETERS);", name);
}
