#include "learn/learn_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- comments and quotes --- */

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Returns the length of quoted text with its quotes: to the next such quote, or to the end of
 * the line. */
static size_t length_of_quoted(const char *at)
{
    size_t i = 1;
    while (at[i] && at[i] != '\n' && at[i] != *at)
        i += at[i] == '\\' && at[i + 1] ? 2 : 1;
    return i + (at[i] == *at);
}

/* Returns whether the quote at text + i begins a raw string: after R, u8R, LR …, and no other
 * name. */
static bool is_raw(const char *text, size_t i)
{
    static const char *const before[] = {"R", "LR", "uR", "UR", "u8R"};
    size_t from = i;
    while (from && is_of_word(text[from - 1]))
        from--;
    for (size_t k = 0; k < sizeof before / sizeof *before; k++)
        if (strlen(before[k]) == i - from && strncmp(text + from, before[k], i - from) == 0)
            return true;
    return false;
}

/* Returns the length of "NAME(…)NAME" after an R, which has no escapes and may contain newlines. */
static size_t length_of_raw(const char *at)
{
    size_t name = strcspn(at + 1, "(\n");
    if (at[1 + name] != '(')
        return length_of_quoted(at);
    char *end = need_text(")%.*s\"", (int)name, at + 1);
    const char *found = strstr(at, end);
    size_t length = found ? (size_t)(found - at) + strlen(end) : strlen(at);
    free(end);
    return length;
}

/* Returns the length of the comment or quoted text that begins at text + i; 0: none begins
 * there. */
static size_t length_of_aside(const char *text, size_t i, enum language language)
{
    const char *at = text + i;
    bool in_word = i && is_of_word(text[i - 1]);
    if (strncmp(at, "//", 2) == 0)
        return strcspn(at, "\n");
    if (strncmp(at, "/*", 2) == 0) {
        const char *end = strstr(at + 2, "*/");
        return end ? (size_t)(end + 2 - at) : strlen(at);
    }
    if (*at == '"')
        return language == LANGUAGE_CUDA && is_raw(text, i) ? length_of_raw(at)
                                                            : length_of_quoted(at);
    if (language == LANGUAGE_CUDA && *at == '\'' &&
        !(in_word && isxdigit((unsigned char)at[1]))) /* 1'000 is a number */
        return length_of_quoted(at);
    return 0;
}

/* Returns the text with comments and quoted texts replaced by blanks. */
static char *bare_text(const char *text, enum language language)
{
    char *bare = need_text("%s", text);
    for (size_t at = 0; text[at];) {
        size_t length = length_of_aside(text, at, language);
        for (size_t i = 0; i < length; i++)
            if (bare[at + i] != '\n')
                bare[at + i] = ' ';
        at += length ? length : 1;
    }
    return bare;
}

bool answer_text_is_blank(const char *text, enum language language)
{
    for (size_t i = 0; text[i];) {
        bool begins_comment = text[i] == '/' && (text[i + 1] == '/' || text[i + 1] == '*');
        if (!begins_comment && !isspace((unsigned char)text[i]))
            return false;
        i += begins_comment ? length_of_aside(text, i, language) : 1;
    }
    return true;
}

/* --- words --- */

static const char *find_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at++)
        if ((at == text || !is_of_word(at[-1])) && !is_of_word(at[length]))
            return at;
    return NULL;
}

static int line_at(const char *text, const char *at)
{
    int line = 1;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

void answer_text_check(const struct answer *a, const struct cases *cases, struct problems *problems)
{
    char *bare = bare_text(a->text, a->language);
    for (int i = 0; i < cases->without_count; i++) {
        const struct forbidden *f = &cases->without[i];
        const char *found = find_word(bare, f->word);
        if (!found)
            continue;
        int line = line_at(bare, found);
        char *message = need_text("`%s` is not for this puzzle: %s", f->word, f->why);
        problems_add_at(problems, REASON_WORD, a->path, line, answer_message(a, line, message));
        free(message);
    }
    free(bare);
}

/* --- prints --- */

/* Returns the end of the parentheses that begin at `at`, or after blanks there, or NULL if there
 * are none or they are not closed. */
static const char *skip_call(const char *at)
{
    int depth = 0;
    while (isspace((unsigned char)*at))
        at++;
    for (; *at == '(' || (depth && *at); at++) {
        depth += (*at == '(') - (*at == ')');
        if (!depth)
            return at + 1;
    }
    return NULL;
}

char *answer_text_without_prints(const char *text, enum language language)
{
    bool tile = language == LANGUAGE_TILE;
    const char *word = tile ? "print" : "printf", *instead = tile ? "{}" : "0";
    char *bare = bare_text(text, language), *kept = need_text("%s", text);
    const char *at = bare;
    while ((at = find_word(at, word))) {
        const char *end = skip_call(at + strlen(word));
        if (end && tile)
            end += strspn(end, " \t\n") + (end[strspn(end, " \t\n")] == ';');
        for (const char *c = at; end && c < end; c++)
            if (*c != '\n')
                kept[c - bare] = ' ';
        if (end)
            memcpy(kept + (at - bare), instead, strlen(instead));
        at = end ? end : at + strlen(word);
    }
    free(bare);
    return kept;
}

/* --- ensures --- */

/* Returns the kernel's `ensures` without blanks, or "" if there is none. The caller frees. */
static char *ensures_of(const char *text)
{
    char *bare = bare_text(text, LANGUAGE_TILE), *kept = need_text("%s", "");
    const char *at = find_word(bare, "ensures");
    for (; at && *at && *at != ';'; at++)
        if (!isspace((unsigned char)*at))
            append_text(&kept, "%c", *at);
    free(bare);
    return kept;
}

bool answer_text_ensures_differ(const char *text, const char *other)
{
    char *mine = ensures_of(text), *theirs = ensures_of(other);
    bool differ = strcmp(mine, theirs) != 0;
    free(mine);
    free(theirs);
    return differ;
}
