/* The scanner: one pass over the bytes, a function for each kind of token. */
#include "lang/scan.h"

#include "base/number.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROBLEMS = 100, MAX_NAME = 200 };

const struct token_info token_table[TOK_COUNT] = {[TOK_END] = {NULL, OP_COUNT, OP_COUNT, false},
                                                  [TOK_BAD] = {NULL, OP_COUNT, OP_COUNT, false},
                                                  [TOK_NAME] = {NULL, OP_COUNT, OP_COUNT, false},
                                                  [TOK_INT] = {NULL, OP_COUNT, OP_COUNT, false},
                                                  [TOK_FLOAT] = {NULL, OP_COUNT, OP_COUNT, false},
                                                  [TOK_STRING] = {NULL, OP_COUNT, OP_COUNT, false},
#define X(id, text) [TOK_##id] = {text, OP_COUNT, OP_COUNT, true},
                                                  KEYWORDS(X)
#undef X
#define X(id, text, infix, compound) [TOK_##id] = {text, OP_##infix, OP_##compound, false},
                                                      PUNCTUATORS(X)
#undef X
};

struct scanner {
    struct arena *arena;
    const struct source *source;
    const char *text;
    uint32_t length, pos;
    bool line_start;
    VEC(struct token) tokens;
    VEC(struct scan_problem) problems;
    /* keywords and punctuators, by the byte that they begin with, and the next one that begins with it; 0: there is none */
    uint8_t first[UINT8_MAX + 1], next[TOK_COUNT];
};

static int first_token(const struct scanner *s)
{
    return s->first[(unsigned char)s->text[s->pos]];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_char(char c)
{
    return is_name_start(c) || is_digit(c);
}

/* Returns the byte `ahead` of the current one; '\0' after the end. (A NUL in the text differs by
 * its position.) */
static char look(const struct scanner *s, uint32_t ahead)
{
    return s->pos + ahead < s->length ? s->text[s->pos + ahead] : '\0';
}

static void problem(struct scanner *s, uint32_t offset, uint32_t length, const char *message,
                    const char *note)
{
    struct scan_problem one = {
        .loc = {s->source, offset, length}, .message = message, .note = note};
    vec_push(s->arena, &s->problems, one);
}

/* Sets the fix of the latest problem: the text that replaces a range. */
static void cure(struct scanner *s, uint32_t offset, uint32_t length, const char *insert)
{
    struct scan_problem *one = &s->problems.data[s->problems.count - 1];
    one->remove = (struct loc){s->source, offset, length};
    one->insert = insert;
}

static struct token *add_token(struct scanner *s, enum token_kind kind, uint32_t start)
{
    struct token t = {.kind = kind,
                      .offset = start,
                      .length = s->pos - start,
                      .match = NO_MATCH,
                      .line_start = s->line_start};
    s->line_start = false;
    vec_push(s->arena, &s->tokens, t);
    return &s->tokens.data[s->tokens.count - 1];
}

/* --- characters outside the language --- */

size_t scan_utf8_decode(const char *s, size_t n, uint32_t *code)
{
    const unsigned char *u = (const unsigned char *)s;
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (n == 0)
        return 0;
    size_t length = u[0] < 0x80       ? 1
                    : u[0] >> 5 == 6  ? 2
                    : u[0] >> 4 == 14 ? 3
                    : u[0] >> 3 == 30 ? 4
                                      : 0;
    if (length == 0 || length > n)
        return 0;
    uint32_t c = length == 1 ? u[0] : u[0] & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (u[i] >> 6 != 2)
            return 0;
        c = c << 6 | (u[i] & 0x3Fu);
    }
    if (c < least[length] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *code = c;
    return length;
}

bool scan_unicode_printable(uint32_t code)
{
    if (code < 0x20 || (code >= 0x7F && code <= 0xA0) || code == 0xAD)
        return false;
    if ((code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202F))
        return false;
    return !(code >= 0x2060 && code <= 0x206F) && code != 0xFEFF && code < 0xE000;
}

/* A character from documents or other languages, and the text to write instead. */
struct meant {
    uint32_t code;
    const char *insert; /* NULL: there is no single character to write */
    const char *note;   /* NULL: "write `INSERT`" */
};

static const struct meant *meant(uint32_t code)
{
    static const struct meant table[] = {
        {'@', NULL, "the product of two matrices is `dot(a, b)`"},
        {0xA0, " ", "this is a no-break space: write an ordinary one"},
        {0xD7, "*", NULL},
        {0xB7, "*", NULL},
        {0xF7, "/", NULL},
        {0x2212, "-", NULL},
        {0x2013, "-", NULL},
        {0x2014, "-", NULL},
        {0x2018, NULL, "write plain quotes"},
        {0x2019, NULL, "write plain quotes"},
        {0x201C, "\"", "write plain quotes: \"\""},
        {0x201D, "\"", "write plain quotes: \"\""},
        {0x2264, "<=", NULL},
        {0x2265, ">=", NULL},
        {0x2260, "!=", NULL},
        {0x221E, "inf", NULL},
        {0x200B, "", "this is an invisible space: delete it"},
        {0xFEFF, "", "this is a byte order mark: delete it"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == code)
            return &table[i];
    return NULL;
}

/* Scans a run of bytes that begin no token, as one problem. */
static void scan_bad(struct scanner *s)
{
    uint32_t start = s->pos, code = 0;
    size_t n = scan_utf8_decode(s->text + start, s->length - start, &code);
    const struct meant *better = n != 0 ? meant(code) : NULL;
    const char *message, *note = better ? better->note : NULL;
    if (better && !note)
        note = arena_printf(s->arena, "write `%s`", better->insert);
    uint32_t alone = start + (uint32_t)n;
    if (n == 0)
        message =
            arena_printf(s->arena, "the byte 0x%02X is not a character (the text is not UTF-8)",
                         (unsigned)(unsigned char)s->text[start]);
    else if (code == 0)
        message = "a NUL byte in the text";
    else if (scan_unicode_printable(code))
        message = arena_printf(s->arena, "the character '%.*s' has no meaning here", (int)n,
                               s->text + start);
    else
        message =
            arena_printf(s->arena, "the character U+%04X has no meaning here", (unsigned)code);
    do
        s->pos += n != 0 ? (uint32_t)n : 1;
    while (s->pos < s->length && (unsigned char)s->text[s->pos] >= 0x80 &&
           (n = scan_utf8_decode(s->text + s->pos, s->length - s->pos, &code), true));
    problem(s, start, s->pos - start, message, note);
    if (better && better->insert && s->pos == alone)
        cure(s, start, s->pos - start, better->insert);
    add_token(s, TOK_BAD, start);
}

/* Scans 'x' or 'inf' as a whole, so that the quote at its end is not a second problem. */
static void scan_quote(struct scanner *s)
{
    uint32_t start = s->pos++;
    for (uint32_t i = 0; i < 8; i++)
        if (look(s, i) == '\'') {
            s->pos += i + 1;
            break;
        }
    problem(s, start, s->pos - start, "there are no character constants",
            "write the number; text is written in \"…\"");
    add_token(s, TOK_BAD, start);
}

static bool begins_with(const struct scanner *s, uint32_t at, const char *word)
{
    size_t n = strlen(word);
    return s->length - at >= n && memcmp(s->text + at, word, n) == 0;
}

static uint32_t skip_blanks(const struct scanner *s, uint32_t at, bool lines)
{
    while (at < s->length && (s->text[at] == ' ' || s->text[at] == '\t' ||
                              (lines && (s->text[at] == '\n' || s->text[at] == '\r'))))
        at++;
    return at;
}

static uint32_t skip_name(const struct scanner *s, uint32_t at)
{
    while (at < s->length && is_name_char(s->text[at]))
        at++;
    return at;
}

/* Sets the fix of `#define NAME VALUE`, whose value has numbers, names and operators. It begins
 * at `start`; the line ends at s->pos. */
static void cure_define(struct scanner *s, uint32_t start, uint32_t word)
{
    uint32_t name = skip_blanks(s, word + 6, false), name_end = skip_name(s, name);
    uint32_t value = skip_blanks(s, name_end, false), end = value;
    bool is_float = false, is_float_digits = false;
    while (end < s->pos && !(s->text[end] == '/' && end + 1 < s->pos &&
                             (s->text[end + 1] == '/' || s->text[end + 1] == '*'))) {
        if (!is_name_char(s->text[end]) && !strchr(" \t().+-*/<>%", s->text[end]))
            return;
        is_float_digits = end > value && is_digit(s->text[end - 1]);
        is_float = is_float || (s->text[end] == '.' && is_float_digits);
        end++;
    }
    while (end > value && (s->text[end - 1] == ' ' || s->text[end - 1] == '\t'))
        end--;
    if (name == name_end || value == name_end || value == end)
        return;
    uint32_t digits = end; /* leaves out the suffix of `1.0f` */
    while (is_float && digits > value && strchr("fF", s->text[digits - 1]))
        digits--;
    cure(s, start, end - start,
         arena_printf(s->arena, "const %s %.*s = %.*s;", is_float ? "f32" : "i32",
                      (int)(name_end - name), s->text + name, (int)(digits - value),
                      s->text + value));
}

/* Sets the fix of `#pragma unroll`, `#pragma unroll 4` or `#pragma unroll(4)` before a loop. */
static void cure_pragma(struct scanner *s, uint32_t start, uint32_t word)
{
    uint32_t unroll = skip_blanks(s, word + 6, false), next = skip_blanks(s, s->pos, true);
    if (!begins_with(s, unroll, "unroll") || !begins_with(s, next, "for"))
        return;
    uint32_t number = skip_blanks(s, unroll + 6, false);
    number += number < s->pos && s->text[number] == '(';
    uint32_t end = skip_name(s, number), blanks = 0;
    if (start == 0 || s->text[start - 1] == '\n')
        while (s->text[next - blanks - 1] != '\n')
            blanks++;
    cure(s, start, next - start,
         arena_printf(s->arena, end > number ? "%.*sunroll(%.*s) " : "%.*sunroll ", (int)blanks,
                      s->text + next - blanks, (int)(end - number), s->text + number));
}

/* Returns `import "x.tile";` for `include "x.tile"` at `word`; NULL: the line is another. */
static const char *import_of(struct scanner *s, uint32_t word)
{
    if (!begins_with(s, word, "include"))
        return NULL;
    uint32_t open = skip_blanks(s, word + 7, false), end = open + 1;
    while (end < s->length && s->text[end] != '"' && s->text[end] != '\n')
        end++;
    bool is_tile = end < s->length && s->text[open] == '"' && s->text[end] == '"' &&
                   end - open > 5 && memcmp(s->text + end - 5, ".tile", 5) == 0;
    return is_tile ? arena_printf(s->arena, "import %.*s;", (int)(end + 1 - open), s->text + open)
                   : NULL;
}

/* Scans a line of the C preprocessor as one problem; skips it and its continuations. */
static void scan_directive(struct scanner *s)
{
    uint32_t start = s->pos, word = skip_blanks(s, start + 1, false);
    bool define = begins_with(s, word, "define"), pragma = begins_with(s, word, "pragma");
    const char *import = import_of(s, word);
    const char *note = import ? arena_printf(s->arena, "write `%s`", import)
                              : "to use the functions of another file: `import \"file.tile\";`";
    if (define)
        note =
            "name a constant: `const i32 N = 4;`, a choice: `tune N = {4, 8};`, a function: `fn`";
    else if (pragma)
        note = "write `unroll for (…)`, or `unroll(4) for (…)`";
    else if (begins_with(s, word, "if") || begins_with(s, word, "el"))
        note = "an `if` over constants costs nothing; `tune(cpu)` gives a target its own values";
    while (s->pos < s->length && s->text[s->pos] != '\n')
        s->pos += s->text[s->pos] == '\\' && look(s, 1) == '\n' ? 2 : 1;
    problem(s, start, skip_name(s, word) - start, "there is no preprocessor", note);
    if (define)
        cure_define(s, start, word);
    else if (pragma)
        cure_pragma(s, start, word);
    else if (import)
        cure(s, start, s->pos - start, import);
    else if (begins_with(s, word, "include"))
        cure(s, start, s->pos - start + (s->pos < s->length), "");
}

/* --- numbers --- */

static double read_double(struct scanner *s, uint32_t start, uint32_t length)
{
    struct text t;
    text_init(&t, s->arena);
    text_add_n(&t, s->text + start, length);
    return number_read(t.data, NULL);
}

static void add_float(struct scanner *s, uint32_t start)
{
    double f = read_double(s, start, s->pos - start);
    bool zero = true;
    for (uint32_t i = start; i < s->pos && s->text[i] != 'e' && s->text[i] != 'E'; i++)
        zero = zero && (s->text[i] == '0' || s->text[i] == '.');
    if (isinf(f))
        problem(s, start, s->pos - start, "the number is too large for any type",
                "infinity is written `inf`");
    else if (f == 0 && !zero)
        problem(s, start, s->pos - start, "the number is too small for any type", "write 0.0");
    add_token(s, TOK_FLOAT, start)->f = f;
}

static int digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

static void add_int(struct scanner *s, uint32_t start, uint32_t digits, unsigned base)
{
    uint64_t value = 0;
    bool large = false;
    for (uint32_t i = digits; i < s->pos; i++) {
        uint64_t d = (uint64_t)digit_value(s->text[i]);
        large = large || value > (UINT64_MAX - d) / base;
        value = value * base + d;
    }
    if (large)
        problem(s, start, s->pos - start, "the integer is too large for any type",
                "the largest is 18446744073709551615 (0xffffffffffffffff)");
    else if (base == 10 && s->pos - digits > 1 && s->text[digits] == '0')
        problem(s, start, s->pos - start, "a decimal number does not begin with 0",
                "C would read it as octal: write it without the 0, or in hexadecimal");
    struct token *t = add_token(s, TOK_INT, start);
    memcpy(&t->i, &value, sizeof value);
    t->above_i64 = value > INT64_MAX;
}

/* Returns the type that a suffix means in C. */
static const char *type_of_suffix(char letter)
{
    switch (letter) {
    case 'f':
    case 'F': return "f32";
    case 'u':
    case 'U': return "u32";
    case 'l':
    case 'L': return "i64";
    default: return "f16";
    }
}

/* Scans letters directly after a number: 1.5f, 10u, 0b11, 12ab. */
static void scan_stuck(struct scanner *s, uint32_t start)
{
    uint32_t suffix = s->pos;
    while (s->pos < s->length && (is_name_char(s->text[s->pos]) || s->text[s->pos] == '.'))
        s->pos++;
    bool only_suffix = true;
    for (uint32_t i = suffix; i < s->pos; i++)
        only_suffix = only_suffix && strchr("fFhHuUlL", s->text[i]) != NULL;
    int shown = s->pos - start < 40 ? (int)(s->pos - start) : 40;
    int number = suffix - start < 40 ? (int)(suffix - start) : 40;
    if (only_suffix) {
        problem(s, suffix, s->pos - suffix, "numbers have no suffix",
                arena_printf(s->arena,
                             "write `%.*s`: a literal takes the type of what it meets, or "
                             "`(%s) %.*s`",
                             number, s->text + start, type_of_suffix(s->text[suffix]), number,
                             s->text + start));
        cure(s, suffix, s->pos - suffix, "");
    } else
        problem(s, start, s->pos - start,
                arena_printf(s->arena, "'%.*s' is not a number", shown, s->text + start),
                "numbers are written 12, 0x1f, 1.5, 1e-3");
    struct token *t = add_token(s, only_suffix ? TOK_FLOAT : TOK_BAD, start);
    if (only_suffix)
        t->f = 1;
}

static void skip_digits(struct scanner *s)
{
    while (is_digit(look(s, 0)))
        s->pos++;
}

static void scan_number(struct scanner *s)
{
    uint32_t start = s->pos, digits = start;
    unsigned base = 10;
    bool is_float = false;
    if (look(s, 0) == '0' && (look(s, 1) == 'x' || look(s, 1) == 'X') &&
        digit_value(look(s, 2)) < 16) {
        base = 16;
        s->pos += 2;
        digits = s->pos;
        while (digit_value(look(s, 0)) < 16)
            s->pos++;
    } else {
        skip_digits(s);
        if (look(s, 0) == '.') {
            is_float = true;
            s->pos++;
            skip_digits(s);
        }
        uint32_t sign = look(s, 1) == '+' || look(s, 1) == '-';
        if ((look(s, 0) == 'e' || look(s, 0) == 'E') && is_digit(look(s, 1 + sign))) {
            is_float = true;
            s->pos += 1 + sign;
            skip_digits(s);
        }
    }
    if (is_name_char(look(s, 0)) || (look(s, 0) == '.' && is_digit(look(s, 1))))
        scan_stuck(s, start);
    else if (is_float)
        add_float(s, start);
    else
        add_int(s, start, digits, base);
}

/* --- words, strings, comments --- */

static void scan_name(struct scanner *s)
{
    uint32_t start = s->pos;
    int k = first_token(s);
    while (s->pos < s->length && is_name_char(s->text[s->pos]))
        s->pos++;
    uint32_t n = s->pos - start;
    while (k && (strlen(token_table[k].text) != n ||
                 memcmp(token_table[k].text, s->text + start, n) != 0))
        k = s->next[k];
    enum token_kind kind = k ? (enum token_kind)k : TOK_NAME;
    if (n > MAX_NAME) {
        problem(s, start, n, "the name is longer than 200 characters", NULL);
        kind = TOK_BAD;
    }
    add_token(s, kind, start);
}

/* Returns the character that an escape after a backslash means, '\0' if there is no such escape. */
static char escaped(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c == '\\' || c == '"' ? c : '\0';
}

static void scan_string_char(struct scanner *s, struct text *t)
{
    char c = s->text[s->pos];
    uint32_t code;
    size_t n = scan_utf8_decode(s->text + s->pos, s->length - s->pos, &code);
    if (c == '\\' && escaped(look(s, 1)) != '\0') {
        text_add_char(t, escaped(look(s, 1)));
        s->pos += 2;
    } else if (c == '\\') {
        problem(s, s->pos, 1, "no such escape in a string", "there are \\n \\t \\\\ \\\"");
        s->pos++;
    } else if (n == 0 || (!scan_unicode_printable(code) && c != '\t')) {
        problem(s, s->pos, 1,
                arena_printf(s->arena, "a string cannot contain the byte 0x%02X",
                             (unsigned)(unsigned char)c),
                NULL);
        s->pos += n > 0 ? (uint32_t)n : 1;
    } else {
        text_add_n(t, s->text + s->pos, n);
        s->pos += (uint32_t)n;
    }
}

static void scan_string(struct scanner *s)
{
    uint32_t start = s->pos++;
    struct text t;
    text_init(&t, s->arena);
    text_add(&t, "");
    while (s->pos < s->length && s->text[s->pos] != '"' && s->text[s->pos] != '\n' &&
           s->problems.count < MAX_PROBLEMS)
        scan_string_char(s, &t);
    if (look(s, 0) == '"' && s->pos < s->length) {
        s->pos++;
        add_token(s, TOK_STRING, start)->text = t.data;
        return;
    }
    problem(s, start, s->pos - start, "the string does not end",
            "close it with '\"' on the same line");
    add_token(s, TOK_BAD, start);
}

/* Skips a comment. Returns false if there is none. */
static bool scan_comment(struct scanner *s)
{
    if (look(s, 0) != '/' || (look(s, 1) != '/' && look(s, 1) != '*'))
        return false;
    uint32_t start = s->pos;
    bool line = look(s, 1) == '/';
    s->pos += 2;
    if (line) {
        while (s->pos < s->length && s->text[s->pos] != '\n')
            s->pos++;
        return true;
    }
    while (s->pos < s->length && !(s->text[s->pos] == '*' && look(s, 1) == '/')) {
        s->line_start = s->line_start || s->text[s->pos] == '\n';
        s->pos++;
    }
    if (s->pos < s->length)
        s->pos += 2;
    else
        problem(s, start, 2, "the comment does not end", "close it with `*/`");
    return true;
}

static bool scan_punctuator(struct scanner *s)
{
    int k = first_token(s);
    while (k && !begins_with(s, s->pos, token_table[k].text))
        k = s->next[k];
    if (!k)
        return false;
    uint32_t start = s->pos;
    s->pos += (uint32_t)strlen(token_table[k].text);
    add_token(s, (enum token_kind)k, start);
    return true;
}

static void scan_one(struct scanner *s)
{
    char c = s->text[s->pos];
    if (c == '\n')
        s->line_start = true;
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v')
        s->pos++;
    else if (is_name_start(c))
        scan_name(s);
    else if (is_digit(c) || (c == '.' && is_digit(look(s, 1))))
        scan_number(s);
    else if (c == '"')
        scan_string(s);
    else if (c == '\'')
        scan_quote(s);
    else if (c == '#' && s->line_start)
        scan_directive(s);
    else if (!scan_comment(s) && !scan_punctuator(s))
        scan_bad(s);
}

/* --- brackets --- */

static enum token_kind opener_of(enum token_kind closer)
{
    return closer == TOK_RPAREN     ? TOK_LPAREN
           : closer == TOK_RBRACKET ? TOK_LBRACKET
           : closer == TOK_RBRACE   ? TOK_LBRACE
                                    : TOK_END;
}

/* Returns the open bracket that `closer` ends, as an index into open, or SIZE_MAX. A closing
 * brace also ends the brackets opened within it. Other closers do not look past an open brace,
 * nor further than eight open brackets. */
static size_t find_opener(const struct scanner *s, const uint32_t *open, size_t count,
                          enum token_kind closer, size_t open_braces)
{
    enum token_kind opener = opener_of(closer);
    if (opener == TOK_LBRACE && open_braces == 0)
        return SIZE_MAX;
    size_t steps = opener == TOK_LBRACE ? count : 8;
    for (size_t i = count; i > 0 && steps > 0; i--, steps--) {
        enum token_kind kind = s->tokens.data[open[i - 1]].kind;
        if (kind == opener)
            return i - 1;
        if (kind == TOK_LBRACE)
            return SIZE_MAX;
    }
    return SIZE_MAX;
}

/* Pairs brackets; one without a partner keeps NO_MATCH. A kernel or fn in the first column ends
 * all open brackets. */
static void pair_brackets(struct scanner *s)
{
    VEC(uint32_t) open = {0};
    size_t open_braces = 0;
    for (uint32_t i = 0; i < s->tokens.count; i++) {
        struct token *t = &s->tokens.data[i];
        if (t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET || t->kind == TOK_LBRACE) {
            vec_push(s->arena, &open, i);
            open_braces += t->kind == TOK_LBRACE;
        } else if ((t->kind == TOK_KERNEL || t->kind == TOK_FN) &&
                   (t->offset == 0 || s->text[t->offset - 1] == '\n')) {
            open.count = open_braces = 0;
        } else if (opener_of(t->kind) != TOK_END) {
            size_t at = find_opener(s, open.data, open.count, t->kind, open_braces);
            if (at == SIZE_MAX)
                continue;
            t->match = open.data[at];
            s->tokens.data[t->match].match = i;
            open.count = at;
            open_braces -= t->kind == TOK_RBRACE;
        }
    }
}

struct token_list scan_text(struct arena *a, const struct source *source)
{
    struct scanner s = {.arena = a, .source = source, .text = source->text, .line_start = true};
    bool fits = source->length < UINT32_MAX / 2;
    for (int k = TOK_COUNT; k-- > TOK_CONST;) {
        uint8_t *first = &s.first[(unsigned char)token_table[k].text[0]];
        s.next[k] = *first;
        *first = (uint8_t)k;
    }
    s.length = fits ? (uint32_t)source->length : 0;
    if (!fits)
        problem(&s, 0, 0, "the text is larger than 2 GiB", NULL);
    if (s.length >= 3 && memcmp(s.text, "\xEF\xBB\xBF", 3) == 0)
        s.pos = 3;
    while (s.pos < s.length && s.problems.count < MAX_PROBLEMS)
        scan_one(&s);
    add_token(&s, TOK_END, s.pos);
    pair_brackets(&s);
    return (struct token_list){s.tokens.data, (uint32_t)s.tokens.count, s.problems.data,
                               s.problems.count};
}

uint32_t scan_token_at(const struct token_list *tokens, uint32_t offset)
{
    uint32_t low = 0, high = tokens->count - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (tokens->tokens[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
