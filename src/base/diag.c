#include "base/diag.h"
#include "base/shown.h"

#include <string.h>

enum { DEFAULT_LIMIT = 20, INDENT = 4, WIDEST_LINE = 100 };

void diag_init(struct diag *d, struct arena *arena)
{
    *d = (struct diag){.arena = arena};
    name_table_init(&d->places, arena);
}

static int limit_of(const struct diag *d)
{
    return d->limit > 0 ? d->limit : DEFAULT_LIMIT;
}

bool diag_full(const struct diag *d)
{
    return d->errors >= limit_of(d);
}

static bool is_same(const struct diagnostic *one, enum severity severity, struct loc at,
                    const char *message)
{
    return one->severity == severity && one->loc.source == at.source &&
           one->loc.offset == at.offset && strcmp(one->message, message) == 0;
}

/* The key of a place in the table. It has no padding bytes. */
struct place {
    uintptr_t source, offset;
};

static struct diagnostic *latest_of_place(const struct diag *d, struct loc at)
{
    struct place place = {(uintptr_t)at.source, at.offset};
    const struct name_entry *found =
        name_table_find(&d->places, (const char *)&place, sizeof place);
    return found ? found->object : NULL;
}

static void remember_place(struct diag *d, struct diagnostic *one)
{
    struct place place = {(uintptr_t)one->loc.source, one->loc.offset};
    const char *key = (const char *)&place;
    one->same_place = latest_of_place(d, one->loc);
    if (!one->same_place)
        key = arena_copy(d->arena, &place, sizeof place);
    name_table_entry(&d->places, key, sizeof place)->object = one;
}

static bool was_added(const struct diag *d, enum severity severity, struct loc at,
                      const char *message)
{
    for (const struct diagnostic *one = latest_of_place(d, at); one; one = one->same_place)
        if (!one->dropped && is_same(one, severity, at, message))
            return true;
    return false;
}

static struct diagnostic *make(struct diag *d, enum severity severity, struct loc at,
                               const char *message)
{
    struct diagnostic *one = arena_new(d->arena, struct diagnostic);
    *one =
        (struct diagnostic){.severity = severity, .code = d->code, .loc = at, .message = message};
    return one;
}

static void add(struct diag *d, enum severity severity, struct loc at, const char *message)
{
    if (d->gathers)
        return;
    d->current = NULL; /* the notes of a dropped diagnostic are dropped too */
    if (was_added(d, severity, at, message))
        return;
    bool full = diag_full(d);
    if (severity == SEV_ERROR)
        d->errors++;
    else
        d->warnings++;
    if (severity == SEV_ERROR && full)
        return;
    struct diagnostic *one = make(d, severity, at, message);
    if (d->last)
        d->last->next = one;
    else
        d->first = one;
    d->last = d->current = one;
    remember_place(d, one);
}

/* Messages quote names and texts from files, so control characters are made visible. */
DIAG_FORMAT(2, 0)
static const char *message_of(struct diag *d, const char *format, va_list args)
{
    return text_shown(d->arena, arena_vprintf(d->arena, format, args), SHOWN_LINES);
}

void diag_error(struct diag *d, struct loc at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = message_of(d, format, args);
    va_end(args);
    add(d, SEV_ERROR, at, message);
}

void diag_warning(struct diag *d, struct loc at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = message_of(d, format, args);
    va_end(args);
    add(d, SEV_WARNING, at, message);
}

void diag_note(struct diag *d, struct loc at, const char *format, ...)
{
    if (!d->current || d->gathers)
        return;
    va_list args;
    va_start(args, format);
    const char *message = message_of(d, format, args);
    va_end(args);
    struct diagnostic **end = &d->current->notes;
    for (; *end; end = &(*end)->next)
        if (is_same(*end, SEV_NOTE, at, message))
            return;
    *end = make(d, SEV_NOTE, at, message);
    (*end)->code = d->current->code;
}

void diag_code(struct diag *d, enum diag_code code)
{
    if (!d->current || d->gathers)
        return;
    d->current->code = code;
    for (struct diagnostic *note = d->current->notes; note; note = note->next)
        note->code = code;
}

void diag_gather(struct diag *d, bool on)
{
    d->gathers = on && d->current;
}

static bool overlaps(struct loc a, struct loc b)
{
    return a.source == b.source && a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

void diag_fix(struct diag *d, struct loc at, const char *format, ...)
{
    if (!d->current || !at.source)
        return;
    va_list args;
    va_start(args, format);
    struct edit **end = &d->current->fix;
    bool overlap = false;
    for (; *end; end = &(*end)->next)
        overlap = overlap || overlaps((*end)->at, at);
    if (overlap && d->gathers) {
        va_end(args);
        return;
    }
    *end = arena_new(d->arena, struct edit);
    **end = (struct edit){.at = at, .insert = arena_vprintf(d->arena, format, args)};
    va_end(args);
}

void diag_write(struct diag *d, struct loc at, const char *text)
{
    diag_note(d, at, "write `%s`", text);
    diag_fix(d, at, "%s", text);
}

void diag_near(struct diag *d, struct loc at, const char *name)
{
    diag_note(d, at, "did you mean `%s`?", name);
    diag_fix(d, at, "%s", name);
}

void diag_access(struct diag *d, const struct diag_access *access)
{
    if (!d->current)
        return;
    struct diag_access **end = &d->current->accesses;
    while (*end)
        end = &(*end)->next;
    *end = arena_new(d->arena, struct diag_access);
    **end = *access;
}

void diag_keep_first(struct diag *d, int errors)
{
    struct diagnostic *one = d->first;
    int kept[] = {[SEV_ERROR] = 0, [SEV_WARNING] = 0};
    while (one && (one->severity != SEV_ERROR || kept[SEV_ERROR] < errors)) {
        kept[one->severity]++;
        one = one->next;
    }
    if (!one)
        return;
    for (struct diagnostic *later = one->next; later; later = later->next)
        later->dropped = true;
    one->next = NULL;
    d->last = d->current = one;
    d->errors = kept[SEV_ERROR] + 1;
    d->warnings = kept[SEV_WARNING];
}

/* --- places --- */

static void find_line_starts(struct arena *a, struct line_starts *lines,
                             const struct source *source)
{
    const char *text = source->text, *end = text + source->length;
    lines->source = source;
    lines->starts.count = 0;
    vec_push(a, &lines->starts, 0);
    for (const char *p = text; p < end && (p = memchr(p, '\n', (size_t)(end - p))); p++)
        vec_push(a, &lines->starts, (size_t)(p - text) + 1);
}

void loc_line_starts_find(struct arena *a, struct line_starts *lines, struct loc at, int *line,
                          int *column)
{
    *line = *column = 1;
    if (!at.source)
        return;
    if (lines->source != at.source)
        find_line_starts(a, lines, at.source);
    size_t offset = loc_start(at), low = 0, high = lines->starts.count;
    while (high - low > 1) { /* the line is low … high - 1 */
        size_t middle = low + (high - low) / 2;
        if (lines->starts.data[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    *line = (int)low + 1;
    *column = (int)(offset - lines->starts.data[low]) + 1;
}

struct loc loc_join(struct loc a, struct loc b)
{
    if (!a.source)
        return b;
    if (b.source != a.source)
        return a;
    uint32_t start = a.offset < b.offset ? a.offset : b.offset;
    uint32_t end_a = a.offset + a.length, end_b = b.offset + b.length;
    uint32_t end = end_a > end_b ? end_a : end_b;
    return (struct loc){a.source, start, end - start};
}

/* --- rendering --- */

/* Returns the bytes of the character at p: a whole UTF-8 sequence, otherwise 1. */
static size_t character_length(const char *p, const char *end)
{
    unsigned char c = (unsigned char)*p;
    size_t length = c >= 0xf0 && c < 0xf5   ? 4
                    : c >= 0xe0 && c < 0xf0 ? 3
                    : c >= 0xc2 && c < 0xe0 ? 2
                                            : 1;
    if ((size_t)(end - p) < length)
        return 1;
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)p[i] & 0xc0) != 0x80)
            return 1;
    return length;
}

/* Adds one character in one column: a space for tabs and control characters, '?' for other
 * characters that are unsafe on a terminal. */
static void add_character(struct text *out, const char *p, size_t length)
{
    unsigned char c = (unsigned char)*p;
    if (shown_character(p, p + length, SHOWN_LINE))
        text_add_n(out, p, length);
    else
        text_add_char(out, c < 0x20 || c == 0x7f ? ' ' : '?');
}

/* The source line of a message, counted in characters. The part shown is first … last - 1. */
struct shown_line {
    const char *text, *end;
    size_t caret, caret_end; /* range that the caret line marks */
    size_t characters;
    size_t first, last;
};

static struct shown_line measure_line(struct loc at)
{
    size_t start = loc_line_start(at), offset = loc_start(at), length = at.source->length;
    struct shown_line line = {.text = at.source->text + start};
    size_t end = start;
    while (end < length && at.source->text[end] != '\n')
        end++;
    if (end > start && at.source->text[end - 1] == '\r')
        end--;
    line.end = at.source->text + end;
    const char *caret = at.source->text + offset, *p = line.text;
    while (p < line.end) {
        size_t bytes = character_length(p, line.end);
        p += bytes;
        line.characters++;
        if (p <= caret)
            line.caret = line.characters;
        if (p < caret + at.length || p == caret + at.length)
            line.caret_end = line.characters;
    }
    if (line.caret_end <= line.caret)
        line.caret_end = line.caret + 1;
    line.last = line.characters;
    return line;
}

/* Cuts a very long line to the part around the caret. */
static void trim_line(struct shown_line *line)
{
    if (line->characters <= WIDEST_LINE)
        return;
    size_t before = WIDEST_LINE / 3;
    line->first = line->caret > before ? line->caret - before : 0;
    if (line->first + WIDEST_LINE > line->characters)
        line->first = line->characters - WIDEST_LINE;
    line->last = line->first + WIDEST_LINE;
    if (line->caret_end > line->last)
        line->caret_end = line->last > line->caret ? line->last : line->caret + 1;
}

static void add_spaces(struct text *out, size_t count)
{
    while (count--)
        text_add_char(out, ' ');
}

static bool is_blank(const struct shown_line *line)
{
    for (const char *p = line->text; p < line->end; p++)
        if ((unsigned char)*p > ' ')
            return false;
    return true;
}

static void add_source_line(struct text *out, struct loc at, bool colour)
{
    struct shown_line line = measure_line(at);
    if (is_blank(&line))
        return; /* the place is the end of the file, for example: there is no text to mark */
    trim_line(&line);
    const char *left = line.first > 0 ? "..." : "";
    add_spaces(out, INDENT);
    text_add(out, left);
    size_t column = 0;
    for (const char *p = line.text; p < line.end && column < line.last; column++) {
        size_t bytes = character_length(p, line.end);
        if (column >= line.first)
            add_character(out, p, bytes);
        p += bytes;
    }
    text_add(out, line.last < line.characters ? "...\n" : "\n");
    add_spaces(out, INDENT + strlen(left) + line.caret - line.first);
    text_add(out, colour ? "\033[1;32m^" : "^");
    for (size_t i = line.caret + 1; i < line.caret_end; i++)
        text_add_char(out, '~');
    text_add(out, colour ? "\033[0m\n" : "\n");
}

static void render_one(struct text *out, struct line_starts *lines, const struct diagnostic *one,
                       bool colour)
{
    static const struct {
        const char *name, *code;
    } severities[] = {{"error", "\033[1;31m"}, {"warning", "\033[1;35m"}, {"note", "\033[1;36m"}};
    if (colour)
        text_add(out, "\033[1m");
    if (one->loc.source) {
        int line, column;
        loc_line_starts_find(out->arena, lines, one->loc, &line, &column);
        const char *name = one->loc.source->name;
        text_printf(out, "%s:%d:%d: ", name ? text_shown(out->arena, name, SHOWN_LINE) : "<text>",
                    line, column);
    } else if (one->severity == SEV_NOTE) {
        add_spaces(out, INDENT);
    }
    if (colour)
        text_add(out, severities[one->severity].code);
    text_printf(out, "%s: ", severities[one->severity].name);
    if (colour)
        text_add(out, one->severity == SEV_NOTE ? "\033[0m" : "\033[0m\033[1m");
    text_add(out, one->message);
    text_add(out, colour ? "\033[0m\n" : "\n");
    if (one->loc.source)
        add_source_line(out, one->loc, colour);
}

void diagnostic_render_at(struct text *out, struct line_starts *lines, const struct diagnostic *one,
                          bool colour)
{
    render_one(out, lines, one, colour);
    for (const struct diagnostic *note = one->notes; note; note = note->next)
        render_one(out, lines, note, colour);
}

void diagnostic_render(struct text *out, const struct diagnostic *one, bool colour)
{
    struct line_starts lines = {0};
    diagnostic_render_at(out, &lines, one, colour);
}

const char *diag_more(const struct diag *d, struct arena *a)
{
    int more = d->errors;
    for (const struct diagnostic *one = d->first; one; one = one->next)
        more -= one->severity == SEV_ERROR;
    return more > 0 ? arena_printf(a, "... and %d more error%s", more, more == 1 ? "" : "s") : NULL;
}

void diag_render(struct text *out, const struct diag *d, bool colour)
{
    struct line_starts lines = {0};
    for (const struct diagnostic *one = d->first; one; one = one->next)
        diagnostic_render_at(out, &lines, one, colour);
    const char *more = diag_more(d, out->arena);
    if (more)
        text_printf(out, "%s\n", more);
}

/* --- did you mean --- */

static bool same_but_case(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        int ca = *a >= 'A' && *a <= 'Z' ? *a + 32 : *a;
        int cb = *b >= 'A' && *b <= 'Z' ? *b + 32 : *b;
        if (ca != cb)
            return false;
    }
    return *a == *b;
}

const char *text_nearest(const char *name, const char *const *names, size_t count)
{
    int length = (int)strlen(name);
    int best = length / 3 > 1 ? length / 3 : 1;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; i++) {
        if (!names[i])
            continue;
        int edits = text_distance(name, names[i]);
        int longer = (int)strlen(names[i]);
        if (longer < length)
            longer = length;
        if (edits > 1 && same_but_case(name, names[i]))
            edits = 1;
        else if (edits == longer)
            continue; /* nothing in common */
        if (nearest ? edits < best : edits <= best) {
            nearest = names[i];
            best = edits;
        }
    }
    return nearest;
}
