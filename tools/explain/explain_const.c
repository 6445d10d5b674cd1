/* Handles constants of a file, `const i32 T = 32, K = 5;`. A launch cannot set them, so another
 * value needs another text of the program. */
#include "explain/explained.h"

#include <ctype.h>
#include <string.h>

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns the position after the comment or quoted text that begins at `at`, or `at` if none
 * begins there. */
static const char *past_aside(const char *at)
{
    if (strncmp(at, "//", 2) == 0)
        return at + strcspn(at, "\n");
    if (strncmp(at, "/*", 2) == 0) {
        const char *end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    if (*at != '"')
        return at;
    for (at++; *at && *at != '"'; at++)
        at += *at == '\\' && at[1];
    return at + (*at == '"');
}

/* Returns the position after the next token: a comment, a word, or one character. A bracket
 * changes `depth`. */
static const char *past_token(const char *at, int *depth)
{
    const char *end = past_aside(at);
    if (end != at)
        return end;
    while (is_of_word(*end))
        end++;
    if (end != at)
        return end;
    *depth += strchr("({[", *at) ? 1 : strchr(")}]", *at) ? -1 : 0;
    return at + 1;
}

static bool is_word(const char *at, const char *end, const char *word)
{
    return (size_t)(end - at) == strlen(word) && strncmp(at, word, (size_t)(end - at)) == 0;
}

/* Finds the initial value of the name, and its *end, in a declaration that begins at `const`.
 * Returns NULL if the declaration has no such name. */
static const char *value_in(const char *at, const char *name, const char **end)
{
    int depth = 0;
    bool named = false;
    for (const char *next; *at && (*at != ';' || depth); at = next) {
        next = past_token(at, &depth);
        if (*at == ',' && !depth)
            named = false;
        if (is_word(at, next, name))
            named = true;
        if (*at != '=' || !named || depth)
            continue;
        *end = next;
        while (**end && (depth || !strchr(",;", **end)))
            *end = past_token(*end, &depth);
        return next;
    }
    return NULL;
}

/* Finds the value of a constant of the file, outside of all kernels and functions. */
static const char *find_value(const char *text, const char *name, const char **end)
{
    int depth = 0;
    for (const char *at = text, *next; *at; at = next) {
        next = past_token(at, &depth);
        const char *value = !depth && is_word(at, next, "const") ? value_in(next, name, end) : NULL;
        if (value)
            return value;
    }
    return NULL;
}

bool explain_has_const(const char *text, const char *name)
{
    const char *end;
    return find_value(text, name, &end) != NULL;
}

/* Adds the names of a declaration that begins at `const`. */
static void add_names(const char *at, char ***names, int *count)
{
    const char *word = NULL, *word_end = NULL;
    int depth = 0;
    bool valued = false;
    for (const char *next; *at && (*at != ';' || depth); at = next) {
        next = past_token(at, &depth);
        if (!valued && is_of_word(*at)) {
            word = at;
            word_end = next;
        }
        if (*at == '=' && !depth && !valued && word) {
            ADD_TO(*names, *count, need_text("%.*s", (int)(word_end - word), word));
        }
        valued = (valued || *at == '=') && (*at != ',' || depth);
    }
}

void explain_consts(const char *text, char ***names, int *count)
{
    int depth = 0;
    for (const char *at = text, *next; *at; at = next) {
        next = past_token(at, &depth);
        if (!depth && is_word(at, next, "const"))
            add_names(next, names, count);
    }
}

char *explain_with_const(const char *text, const char *name, const char *value)
{
    const char *end, *from = find_value(text, name, &end);
    return from ? need_text("%.*s %s%s", (int)(from - text), text, value, end) : NULL;
}
