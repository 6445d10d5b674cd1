#include "learn/learn_counters.h"
#include "cli/tool.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum joined { SUM, MOST };
static const struct {
    const char *name;
    enum joined joined;
} counters[] = {
#define COUNTER_ROW(name, joined, what) {#name, joined},
    TW_COUNTER_LIST(COUNTER_ROW)
#undef COUNTER_ROW
};
enum { COUNTERS = sizeof counters / sizeof *counters };

static const char *const kinds[] = {
#define KIND_NAME(name, text) text,
    TW_KIND_LIST(KIND_NAME)
#undef KIND_NAME
};

/* Returns the number of a counter; -1: there is none of that name. */
static int counter_number(const char *name)
{
    for (int i = 0; i < COUNTERS; i++)
        if (strcmp(counters[i].name, name) == 0)
            return i;
    return -1;
}

static int kind_number(const char *name)
{
    name = strcmp(name, "barriers") == 0 ? kinds[TW_KIND_BARRIER] : name;
    for (int i = 0; i < TW_KIND_COUNT; i++)
        if (strcmp(kinds[i], name) == 0)
            return i;
    return -1;
}

/* Treats tw_counters as an array of numbers, in the order of the list of counters. */
static int64_t value_at(const tw_counters *c, int number)
{
    int64_t value;
    memcpy(&value, (const char *)c + (size_t)number * sizeof value, sizeof value);
    return value;
}

tw_counted *counted_copy(const tw_counted *c)
{
    if (!c)
        return NULL;
    tw_counted *copy = need_memory(sizeof *copy);
    tw_line_counters *lines = need_memory(((size_t)c->line_count + 1) * sizeof *lines);
    *copy = *c;
    for (int i = 0; i < c->line_count; i++) {
        lines[i] = c->lines[i];
        lines[i].file = need_text("%s", c->lines[i].file);
    }
    copy->lines = lines;
    return copy;
}

void counted_free(tw_counted *c)
{
    for (int i = 0; c && i < c->line_count; i++)
        free((char *)c->lines[i].file);
    free(c ? (tw_line_counters *)c->lines : NULL);
    free(c);
}

bool counter_total(const tw_counted *c, const char *name, int64_t *out)
{
    int counter = counter_number(name), kind = kind_number(name);
    *out = counter >= 0 ? value_at(&c->total, counter) : kind >= 0 ? c->instructions[kind] : 0;
    return counter >= 0 || kind >= 0;
}

int64_t counter_joined(const char *name, int64_t a, int64_t b)
{
    int counter = counter_number(name);
    if (strcmp(name, "resident_warps") == 0) /* the case with the fewest */
        return a < b ? a : b;
    if (counter >= 0 && counters[counter].joined == MOST)
        return a > b ? a : b;
    return a + b;
}

/* Returns whether the line of the text has a barrier. */
static bool has_barrier(const char *text, int64_t line)
{
    for (; line > 1 && *text; line--)
        text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
    const char *end = text + strcspn(text, "\n"), *at = text;
    while ((at = strstr(at, "sync")) && at < end) { /* sync(), __syncthreads(); no async */
        if (at == text || at[-1] != 'a')
            return true;
        at++;
    }
    return false;
}

int counter_line(const tw_counted *c, const char *name, const char *file, const char *text,
                 int64_t excess)
{
    int64_t most = 0;
    int line = 0;
    bool barriers = strcmp(name, "barriers") == 0;
    if (strcmp(name, "block_sectors") == 0) /* not counted by line */
        name = "global_sectors";
    int counter = counter_number(name);
    if (counter < 0 || strcmp(name, "busiest_warp") == 0)
        counter = counter_number("warp_instructions");
    for (int i = 0; i < c->line_count; i++) {
        const tw_line_counters *l = &c->lines[i];
        int64_t value = value_at(&l->counters, counter);
        if (strcmp(l->file, file) == 0 && value > most &&
            (!barriers || has_barrier(text, l->line))) {
            if (barriers && value == excess) /* without this barrier the count is the solution's */
                return l->line;
            most = value;
            line = l->line;
        }
    }
    return line;
}
