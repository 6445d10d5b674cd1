/* The file of findings to let pass: its lines about the host's calls. The simulator's report has the
 * others. */
#include "driver/driver.h"

#include "base/platform.h"
#include "sim/sim_report.h"

#include <string.h>

static const char *const kinds[] = {
#define KIND(name, meaning) name,
#define OTHER_KIND(name, meaning)
#include "driver/driver_kinds.def"
#undef KIND
#undef OTHER_KIND
};

struct suppression {
    const char *kind, *place; /* place: a function's name, or file:line; NULL: any */
    int line;                 /* in the file */
    bool used;
};
static VEC(struct suppression) suppressions;
static VEC(int) launch_lines; /* the lines of those that the report has, in its order */
static const char *file_name; /* NULL: no file was read */

static const char *next_word(const char **at, const char *end, size_t *length)
{
    while (*at < end && text_is_blank(**at))
        (*at)++;
    if (*at < end && **at == '#') /* a comment */
        *at = end;
    const char *word = *at;
    while (*at < end && !text_is_blank(**at))
        (*at)++;
    *length = (size_t)(*at - word);
    return *length ? word : NULL;
}

static bool is_of_launches(const char *word, size_t length)
{
    for (int i = 0; i < SIM_FOUND_COUNT; i++) {
        const char *name = sim_found_name((enum sim_found)i);
        if (strlen(name) == length && memcmp(name, word, length) == 0)
            return true;
    }
    return false;
}

/* Returns a message about a line whose first word is not a kind, with all kinds. */
static const char *unknown_kind(struct arena *a, const char *file, int line, const char *word,
                                size_t length)
{
    struct text text;
    text_init(&text, a);
    text_printf(&text, "%s:%d: no finding is called '%.*s'; of calls there are ", file, line,
                (int)length, word);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        text_printf(&text, "%s%s", i ? ", " : "", kinds[i]);
    text_add(&text, "; of launches ");
    for (int i = 0; i < SIM_FOUND_COUNT; i++)
        text_printf(&text, "%s%s", i ? ", " : "", sim_found_name((enum sim_found)i));
    return text.data;
}

/* Takes a line if it is about a call of the host. Returns false otherwise. */
static bool take_line(struct arena *a, const char *file, int line, const char *at, const char *end)
{
    size_t length, place_length, more_length;
    const char *word = next_word(&at, end, &length);
    for (size_t i = 0; word && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strlen(kinds[i]) != length || memcmp(kinds[i], word, length) != 0)
            continue;
        const char *place = next_word(&at, end, &place_length);
        struct suppression s = {kinds[i], place ? arena_string(a, place, place_length) : NULL, line,
                                false};
        vec_push(a, &suppressions, s);
        const char *more = next_word(&at, end, &more_length);
        if (more)
            driver_report_without_place(
                "suppressions", true,
                arena_printf(a, "%s:%d: after '%s', a place or the end of the line: '%.*s' is more",
                             file, line, kinds[i], (int)more_length, more));
        return true;
    }
    return false;
}

/* Takes the lines about calls, and leaves blanks in their places and in those of lines with an unknown
 * kind, which it reports. */
static void take_lines(struct arena *a, const char *file, char *text)
{
    for (int line = 1; *text; line++) {
        char *end = text + strcspn(text, "\n");
        const char *at = text;
        size_t length;
        const char *word = next_word(&at, end, &length);
        bool taken = take_line(a, file, line, text, end);
        if (word && !taken && !is_of_launches(word, length)) {
            driver_report_without_place("suppressions", true,
                                        unknown_kind(a, file, line, word, length));
            taken = true;
        }
        if (word && !taken)
            vec_push(a, &launch_lines, line);
        if (taken)
            memset(text, ' ', (size_t)(end - text));
        text = *end ? end + 1 : end;
    }
}

static bool is_suppressed(const char *kind, const struct driver_place *place, const char *kernel,
                          const char *line)
{
    struct arena *a = &driver.arena;
    const char *function = place->function, *end = strstr(function, "+0x"), *call = NULL;
    if (suppressions.count && end)
        function = arena_string(a, function, (size_t)(end - function));
    if (suppressions.count && place->file)
        call = arena_printf(a, "%s:%d:", place->file, place->line);
    for (size_t i = 0; i < suppressions.count; i++) {
        struct suppression *s = &suppressions.data[i];
        if (strcmp(s->kind, kind) == 0 &&
            (!s->place || sim_pattern_matches(s->place, function) ||
             (kernel && sim_pattern_matches(s->place, kernel)) ||
             sim_place_matches(a, line, s->place) || sim_place_matches(a, call, s->place))) {
            s->used = true;
            return true;
        }
    }
    return false;
}

void driver_read_suppressions(struct arena *a, const char *name)
{
    struct diag diag;
    struct text text;
    size_t length = 0;
    const char *why = NULL;
    driver.is_suppressed = is_suppressed;
    char *content = platform_read_file(a, name, &length, &why);
    struct source *s = arena_new(a, struct source);
    if (content)
        take_lines(a, name, content);
    *s = (struct source){name, content ? content : "", length};
    diag_init(&diag, a);
    text_init(&text, a);
    if (content && sim_report_suppress(driver_machine_report(), s, &diag)) {
        file_name = name;
        return;
    }
    diag_render(&text, &diag, false);
    driver_report_without_place("suppressions", true,
                                content ? text.data
                                        : arena_printf(a, "%s cannot be read: %s", name, why));
}

/* Reports a line that let no finding pass. */
static void report_unused(int line, const char *kind, const char *place)
{
    driver_report_without_place(
        "unused-suppression", false,
        arena_printf(&driver.arena, "%s:%d: '%s%s%s' lets no finding of this run pass", file_name,
                     line, kind, place ? " " : "", place ? place : ""));
}

void driver_report_unused_suppressions(void)
{
    const struct sim_report *r = driver_machine_report();
    size_t launches =
        r->suppressions.count < launch_lines.count ? r->suppressions.count : launch_lines.count;
    for (size_t i = 0, k = 0; file_name && (i < suppressions.count || k < launches);) {
        const struct suppression *s = i < suppressions.count ? &suppressions.data[i] : NULL;
        const struct sim_suppression *l = k < launches ? &r->suppressions.data[k] : NULL;
        if (s && (!l || s->line < launch_lines.data[k])) { /* in the order of their lines */
            if (!s->used)
                report_unused(s->line, s->kind, s->place);
            i++;
        } else {
            if (!l->used)
                report_unused(launch_lines.data[k], l->kind, l->patterns[0]);
            k++;
        }
    }
}
