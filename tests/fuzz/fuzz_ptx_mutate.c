/* Damaged PTX, line by line and word by word: most of it still parses, and is a program that no
 * compiler writes. */
#include "fuzz.h"

#include <ctype.h>
#include <string.h>

typedef VEC(struct sample) line_list;

static void split_lines(struct arena *a, const char *text, size_t n, line_list *lines)
{
    for (size_t start = 0, at = 0; at < n; at++)
        if (text[at] == '\n' || at + 1 == n) {
            struct sample line = {arena_string(a, text + start, at + 1 - start), at + 1 - start};
            vec_push(a, lines, line);
            start = at + 1;
        }
}

/* --- words --- */

static const char *const numbers[] = {
    "0", "1", "2", "3", "4", "8", "-1", "16", "31", "32", "33", "63", "64", "127", "255", "1024",
    "-8", "4096", "65536", "2147483647", "4294967295", "0x80000000", "0f7f800000",
    /* far outside: past the next allocation, and near the end of 64 bits */
    "-4", "1000000", "68719476736", "4611686018427387904", "9223372036854775807"};
static const char *const modifiers[] = {
    ".u8",    ".u16",     ".u32",  ".u64", ".s8",      ".s16",     ".s32",     ".s64",
    ".b8",    ".b16",     ".b32",  ".b64", ".f16",     ".f16x2",   ".bf16",    ".f32",
    ".f64",   ".pred",    ".v2",   ".v4",  ".global",  ".shared",  ".local",   ".param",
    ".const", ".sat",     ".ftz",  ".rn",  ".rz",      ".acquire", ".release", ".relaxed",
    ".gpu",   ".cta",     ".sys",  ".x2",  ".x4",      ".trans",   ".wide",    ".lo",
    ".hi",    ".aligned", ".sync", ".uni", ".volatile"};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || strchr("_$%.", c);
}

/* Returns a word of a text from a random place on; length 0: none was found. */
static const char *some_word(struct rng *r, const struct sample *s, size_t *length)
{
    size_t at = s->length ? (size_t)rng_below(r, (int)s->length) : 0;
    while (at < s->length && !is_word(s->text[at]))
        at++;
    while (at > 0 && is_word(s->text[at - 1]))
        at--;
    *length = 0;
    while (at + *length < s->length && is_word(s->text[at + *length]))
        ++*length;
    return s->text + at;
}

/* Returns true for registers of one kind, %rd7 and %rd12, or two words that are not registers. */
static bool are_alike(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t i = 0;
    if (b_length == 0 || a[0] != '%' || b[0] != '%')
        return b_length > 0 && a[0] != '%' && b[0] != '%';
    while (i < a_length && i < b_length && a[i] == b[i])
        i++;
    bool digits = (i == a_length || isdigit((unsigned char)a[i])) &&
                  (i == b_length || isdigit((unsigned char)b[i]));
    return digits && i > 1;
}

/* Writes a replacement for a word: another word of the text, a number, or the word with another
 * modifier. */
static void add_other_word(struct text *out, struct rng *r, const char *word, size_t length,
                           const struct sample *whole)
{
    size_t dot = length, other;
    for (size_t i = 1; i < length; i++)
        if (word[i] == '.' && rng_chance(r, 50))
            dot = i;
    if (word[0] != '.' && dot < length && rng_chance(r, 70)) {
        size_t end = dot + 1;
        while (end < length && word[end] != '.')
            end++;
        text_add_n(out, word, dot);
        if (rng_chance(r, 85))
            text_add(out, modifiers[rng_below(r, sizeof modifiers / sizeof *modifiers)]);
        text_add_n(out, word + end, length - end);
    } else if (isdigit((unsigned char)word[0]) && rng_chance(r, 70)) {
        text_add(out, numbers[rng_below(r, sizeof numbers / sizeof *numbers)]);
    } else {
        const char *from = some_word(r, whole, &other);
        for (int i = 0; i < 40 && !are_alike(word, length, from, other); i++)
            from = some_word(r, whole, &other);
        text_add_n(out, from, other);
    }
}

static struct sample with_other_word(struct arena *a, struct rng *r, const struct sample *line,
                                     const struct sample *whole)
{
    struct text t;
    size_t length;
    const char *word = some_word(r, line, &length);
    text_init(&t, a);
    text_add_n(&t, line->text, (size_t)(word - line->text));
    if (length > 0)
        add_other_word(&t, r, word, length, whole);
    text_add(&t, word + length);
    return (struct sample){t.data, t.length};
}

/* --- lines --- */

static void remove_line(line_list *lines, size_t at)
{
    memmove(&lines->data[at], &lines->data[at + 1], (lines->count - at - 1) * sizeof *lines->data);
    lines->count--;
}

static void insert_line(struct arena *a, line_list *lines, size_t at, struct sample line)
{
    vec_push(a, lines, line);
    memmove(&lines->data[at + 1], &lines->data[at], (lines->count - 1 - at) * sizeof line);
    lines->data[at] = line;
}

static struct sample foreign_line(struct arena *a, struct rng *r, const struct corpus *others)
{
    line_list lines = {0};
    const struct sample *s = &others->samples[rng_below(r, (int)others->count)];
    split_lines(a, s->text, s->length, &lines);
    return lines.count ? lines.data[rng_below(r, (int)lines.count)] : (struct sample){"\n", 1};
}

static void edit(struct arena *a, struct rng *r, line_list *lines, const struct sample *whole,
                 const struct corpus *others)
{
    size_t at = (size_t)rng_below(r, (int)lines->count);
    size_t to = (size_t)rng_below(r, (int)lines->count);
    struct sample line = lines->data[at];
    int how = rng_below(r, 100);
    if (how < 62) {
        lines->data[at] = with_other_word(a, r, &line, whole);
    } else if (how < 74) {
        remove_line(lines, at);
    } else if (how < 82) {
        insert_line(a, lines, to, line);
    } else if (how < 92) {
        remove_line(lines, at);
        insert_line(a, lines, to < lines->count ? to : lines->count, line);
    } else if (others->count > 0) {
        insert_line(a, lines, to, foreign_line(a, r, others));
    }
}

void mutate_lines(struct text *out, struct rng *r, const char *text, size_t n, int edits,
                  const struct corpus *others)
{
    line_list lines = {0};
    struct sample whole = {arena_string(out->arena, text, n), n};
    split_lines(out->arena, text, n, &lines);
    for (int i = 0; i < edits && lines.count > 0; i++)
        edit(out->arena, r, &lines, &whole, others);
    for (size_t i = 0; i < lines.count; i++)
        text_add_n(out, lines.data[i].text, lines.data[i].length);
}
