#include "learn_counters.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* The number behind "name": between two places; false: it is not there. */
static bool number_of(const char *from, const char *to, const char *name, int64_t *out)
{
    char *key = need_text("\"%s\": ", name);
    const char *at = strstr(from, key);
    bool found = at && at < to;
    if (found)
        *out = strtoll(at + strlen(key), NULL, 10);
    free(key);
    return found;
}

static const char *lines_of(const char *json)
{
    const char *lines = strstr(json, "\"lines\": [");
    return lines ? lines : json + strlen(json);
}

/* Kinds of instructions are listed only where there were some. */
static bool is_kind(const char *name)
{
    static const char *const kinds[] = {"f64",     "f32",     "f16",     "integer", "bits",
                                        "compare", "convert", "move",    "shared",  "global",
                                        "local",   "const",   "generic", "atomic",  "async",
                                        "barrier", "lanes",   "control", "matrix",  "other"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i]) == 0)
            return true;
    return false;
}

bool counter_total(const char *json, const char *name, int64_t *out)
{
    name = strcmp(name, "barriers") == 0 ? "barrier" : name;
    *out = 0;
    return number_of(json, lines_of(json), name, out) || is_kind(name);
}

int64_t counter_joined(const char *name, int64_t a, int64_t b)
{
    static const char *const no_sums[] = {"async_depth", "async_overlap", "block_sectors",
                                          "busiest_warp"};
    for (size_t i = 0; i < sizeof no_sums / sizeof *no_sums; i++)
        if (strcmp(name, no_sums[i]) == 0)
            return a > b ? a : b;
    return a + b;
}

/* Whether the line of the text has a barrier. */
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

int counter_line(const char *json, const char *name, const char *file, const char *text)
{
    int64_t most = 0, line = 0;
    bool barriers = strcmp(name, "barriers") == 0;
    if (strcmp(name, "block_sectors") == 0) /* which lines do not have */
        name = "global_sectors";
    if (strcmp(name, "busiest_warp") == 0)
        name = "warp_instructions";
    const char *key = barriers || is_kind(name) ? "warp_instructions" : name;
    char *place = need_text("\"file\": \"%s\"", file); /* a name that JSON escapes is not found */
    for (const char *at = strchr(lines_of(json), '{'); at; at = strchr(at + 1, '{')) {
        const char *end = at + strcspn(at, "}"), *here = strstr(at, place);
        int64_t value = 0, number = 0;
        if (here && here < end && number_of(at, end, key, &value) && value > most &&
            number_of(at, end, "line", &number) && (!barriers || has_barrier(text, number))) {
            most = value;
            line = number;
        }
    }
    free(place);
    return (int)line;
}
