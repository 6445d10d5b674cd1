#include "learn/learn_cases.h"
#include "cli/tool.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *at)
{
    while (isblank((unsigned char)*at))
        at++;
    return at;
}

/* Reads the word at *at, and moves *at past it and the blanks after it. The caller frees. */
static char *next_word(const char **at)
{
    const char *from = skip_blanks(*at);
    size_t length = strcspn(from, " \t");
    *at = skip_blanks(from + length);
    return need_text("%.*s", (int)length, from);
}

/* Returns the next random number of a sequence (Steele, Lea, Flood, "Fast Splittable
 * Pseudorandom Number Generators", 2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Returns a random number of a range such as "1..300", or other text unchanged. Returns NULL if
 * the range is malformed. The caller frees. */
static char *drawn(const char *text, uint64_t *state)
{
    char *end;
    long low = strtol(text, &end, 10), high = low;
    if (strncmp(end, "..", 2) != 0)
        return need_text("%s", text);
    bool begins = end > text;
    const char *last = end + 2;
    high = strtol(last, &end, 10);
    if (!begins || end == last || *end || high < low)
        return NULL;
    uint64_t count = (uint64_t)high - (uint64_t)low + 1;
    return need_text("%ld", low + (long)(next_random(state) % count));
}

static const char *read_case(struct cases *c, const char *at, bool shown, uint64_t *state)
{
    struct puzzle_case *x = ADD_NEW(c->list, c->count);
    *x = (struct puzzle_case){.shown = shown};
    while (*at) {
        char *word = next_word(&at), *equals = strchr(word, '=');
        if (!equals || equals == word || !equals[1]) {
            free(word);
            return "a case is NAME=VALUE, with blanks between several and none in them";
        }
        char *value = state ? drawn(equals + 1, state) : need_text("%s", equals + 1);
        if (!value) {
            free(word);
            return "a random case has NAME=LOW..HIGH";
        }
        *equals = '\0';
        ADD_TO(x->list, x->count, (struct binding){.name = word, .text = value});
    }
    return NULL;
}

/* Returns the text in quotes; the caller frees. */
static char *quoted(const char *at)
{
    const char *from = strchr(at, '"');
    from = from ? from + 1 : "";
    return need_text("%.*s", (int)strcspn(from, "\""), from);
}

/* Reads a limit: global_sectors <= 2 * solution "why" */
static const char *read_limit(struct cases *c, const char *at)
{
    char *counter = next_word(&at), *relation = next_word(&at);
    bool at_least = strcmp(relation, ">=") == 0, at_most = strcmp(relation, "<=") == 0;
    free(relation);
    size_t formula = strcspn(at, "\"");
    NEED_ROOM(c->limits, c->limit_count);
    c->limits[c->limit_count++] =
        (struct counter_limit){.counter = counter,
                               .at_least = at_least,
                               .formula = need_text("%.*s", (int)formula, at),
                               .why = quoted(at)};
    if ((!at_least && !at_most) || !formula)
        return "a limit is COUNTER <= EXPRESSION, or >=, and the message in quotes";
    return NULL;
}

/* Limits on an answer's work compared with the solution's. The constant terms let small cases
 * pass: in an answer of a few instructions, one more guard is a large part. */
static const struct counter_limit defaults[] = {
    {"warp_instructions", false, "3 * solution + 60",
     "it takes far more work than it needs: is something done more than once, or past the end of "
     "the arrays, or by a few threads "
     "while the others of their warp wait?",
     true},
    {"busiest_warp", false, "3 * solution + 60",
     "one warp works while others wait: all threads of the block are to share the work", true},
    {"global_stores", false, "3 * solution",
     "each result is to be written once, and neighbours by one instruction of their warp", true},
    {"async_overlap", true, "0.5 * solution",
     "while shared memory is read, next to nothing is under way: start all of the next copy first, "
     "and wait for it afterwards",
     true},
};

bool cases_have_limit(const struct cases *c, const char *counter)
{
    for (int i = 0; i < c->limit_count; i++)
        if (strcmp(c->limits[i].counter, counter) == 0)
            return true;
    return false;
}

static bool has_limit(const struct cases *c, const struct counter_limit *other)
{
    for (int i = 0; i < c->limit_count; i++)
        if (strcmp(c->limits[i].counter, other->counter) == 0 &&
            c->limits[i].at_least == other->at_least)
            return true;
    return false;
}

static void add_defaults(struct cases *c)
{
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        struct counter_limit l = defaults[i];
        if (has_limit(c, &l) || (c->launch_free && strcmp(l.counter, "busiest_warp") == 0))
            continue;
        l.counter = need_text("%s", l.counter);
        l.formula = need_text("%s", l.formula);
        l.why = need_text("%s", l.why);
        ADD_TO(c->limits, c->limit_count, l);
    }
}

/* pipeline "by hand here" */
static const char *read_without(struct cases *c, const char *at)
{
    struct forbidden *f = ADD_NEW(c->without, c->without_count);
    f->word = next_word(&at);
    f->why = quoted(at);
    return *f->word && *f->why ? NULL : "it is `without WORD`, and the message in quotes";
}

/* Reads: random n=1..300; the first word is optional. */
static const char *read_hidden(struct cases *c, const char *at, uint64_t *state)
{
    const char *behind = at;
    char *word = next_word(&behind);
    bool random = strcmp(word, "random") == 0;
    free(word);
    return random ? read_case(c, behind, false, state) : read_case(c, at, false, NULL);
}

static const char *read_line(struct cases *c, const char *line, uint64_t *state)
{
    const char *at = line, *wrong = NULL;
    char *word = next_word(&at);
    if (strcmp(word, "shown") == 0)
        wrong = read_case(c, at, true, NULL);
    else if (strcmp(word, "hidden") == 0)
        wrong = read_hidden(c, at, state);
    else if (strcmp(word, "limit") == 0)
        wrong = read_limit(c, at);
    else if (strcmp(word, "grid") == 0 && !c->grid)
        c->grid = need_text("%s", at);
    else if (strcmp(word, "block") == 0 && !c->block)
        c->block = need_text("%s", at);
    else if (strcmp(word, "launch") == 0 && strcmp(at, "free") == 0)
        c->launch_free = true;
    else if (strcmp(word, "same") == 0 && !*at)
        c->same = true;
    else if (strcmp(word, "without") == 0)
        wrong = read_without(c, at);
    else
        wrong = "expected shown, hidden, limit, without, same, launch free, or once grid and block";
    free(word);
    return wrong;
}

char *cases_read(struct cases *c, const char *text, uint64_t seed)
{
    *c = (struct cases){0};
    for (int number = 1; *text; number++) {
        size_t length = strcspn(text, "\n"), used = strcspn(text, "#\n");
        while (used && isspace((unsigned char)text[used - 1]))
            used--;
        char *line = need_text("%.*s", (int)used, text);
        const char *wrong = *skip_blanks(line) ? read_line(c, line, &seed) : NULL;
        free(line);
        if (wrong)
            return need_text("line %d: %s", number, wrong);
        text += length + (text[length] == '\n');
    }
    if (!c->count || !c->list[0].shown)
        return need_text("it begins with no shown case");
    add_defaults(c);
    return NULL;
}

void cases_free(struct cases *c)
{
    for (int i = 0; i < c->count; i++) {
        for (int b = 0; b < c->list[i].count; b++) {
            free(c->list[i].list[b].name);
            free(c->list[i].list[b].text);
        }
        free(c->list[i].list);
    }
    for (int i = 0; i < c->limit_count; i++) {
        free(c->limits[i].counter);
        free(c->limits[i].formula);
        free(c->limits[i].why);
    }
    for (int i = 0; i < c->without_count; i++) {
        free(c->without[i].word);
        free(c->without[i].why);
    }
    free(c->list);
    free(c->limits);
    free(c->without);
    free(c->grid);
    free(c->block);
    *c = (struct cases){0};
}

const char *case_value(const struct puzzle_case *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->list[i].name, name) == 0)
            return c->list[i].text;
    return NULL;
}

void case_bind(struct puzzle_case *c, const char *name, const char *text)
{
    char *value = need_text("%s", text);
    for (int i = 0; i < c->count; i++)
        if (strcmp(c->list[i].name, name) == 0) {
            free(c->list[i].text);
            c->list[i].text = value;
            return;
        }
    ADD_TO(c->list, c->count, (struct binding){.name = need_text("%s", name), .text = value});
}

bool cases_bind(const struct cases *c, const char *name)
{
    for (int i = 0; i < c->count; i++)
        if (case_value(&c->list[i], name))
            return true;
    return false;
}
