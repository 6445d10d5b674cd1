/* The file of findings to let pass: its lines about the host's calls. The simulator's report has the
 * others. */
#include "driver/driver.h"

#include "base/platform.h"
#include "sim/sim_report.h"

#include <string.h>

static const char *const kinds[] = {
#define KIND(name, meaning) name,
#include "driver/driver_kinds.def"
#undef KIND
};

struct suppression {
    const char *kind, *place; /* place: a function's name; NULL: any */
};
static VEC(struct suppression) suppressions;

static const char *next_word(const char **at, const char *end, size_t *length)
{
    while (*at < end && text_is_blank(**at))
        (*at)++;
    const char *word = *at;
    while (*at < end && !text_is_blank(**at))
        (*at)++;
    *length = (size_t)(*at - word);
    return *length ? word : NULL;
}

/* Takes a line if it is about a call of the host. Returns false otherwise. */
static bool take_line(struct arena *a, const char *at, const char *end)
{
    size_t length, place_length;
    const char *word = next_word(&at, end, &length);
    for (size_t i = 0; word && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strlen(kinds[i]) != length || memcmp(kinds[i], word, length) != 0)
            continue;
        const char *place = next_word(&at, end, &place_length);
        struct suppression s = {kinds[i], place ? arena_string(a, place, place_length) : NULL};
        vec_push(a, &suppressions, s);
        return true;
    }
    return false;
}

/* Takes the lines about calls, and leaves blanks in their places. */
static void take_lines(struct arena *a, char *text)
{
    while (*text) {
        char *end = text + strcspn(text, "\n");
        if (take_line(a, text, end))
            memset(text, ' ', (size_t)(end - text));
        text = *end ? end + 1 : end;
    }
}

bool driver_is_suppressed(const char *kind, const char *place)
{
    for (size_t i = 0; i < suppressions.count; i++) {
        const struct suppression *s = &suppressions.data[i];
        size_t length = s->place ? strlen(s->place) : 0;
        if (strcmp(s->kind, kind) == 0 &&
            (!s->place || (strncmp(place, s->place, length) == 0 && place[length] == '+')))
            return true;
    }
    return false;
}

void driver_read_suppressions(struct arena *a, const char *name)
{
    struct diag diag;
    struct text text;
    size_t length = 0;
    const char *why = NULL;
    char *content = platform_read_file(a, name, &length, &why);
    struct source *s = arena_new(a, struct source);
    if (content)
        take_lines(a, content);
    *s = (struct source){name, content ? content : "", length};
    diag_init(&diag, a);
    text_init(&text, a);
    if (content && sim_report_suppress(driver_machine_report(), s, &diag))
        return;
    diag_render(&text, &diag, false);
    driver_refuse("suppressions", NULL,
                  content ? text.data : arena_printf(a, "%s cannot be read: %s", name, why));
}
