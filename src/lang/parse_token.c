/* The core of the parser, which all its files use: tokens, errors and recovery, words of other
 * languages, nodes. parse_internal.h explains how errors work. */
#include "lang/parse_internal.h"

#include <string.h>

const struct token *parse_peek_ahead(const struct parser *p, uint32_t n)
{
    if (p->panic || p->stopped)
        return &p->end;
    uint32_t last = p->count - 1;
    return &p->tokens[last - p->pos < n ? last : p->pos + n];
}

const struct token *parse_peek(const struct parser *p)
{
    return parse_peek_ahead(p, 0);
}

bool parse_at(const struct parser *p, enum token_kind kind)
{
    return parse_peek(p)->kind == kind;
}

bool token_is(const struct parser *p, const struct token *t, const char *word)
{
    const char *text = p->source->text + t->offset;
    return t->kind == TOK_NAME && text[0] == word[0] && t->length == strlen(word) &&
           memcmp(text, word, t->length) == 0;
}

bool parse_at_word(const struct parser *p, const char *word)
{
    return token_is(p, parse_peek(p), word);
}

void parse_tell_problems(struct parser *p)
{
    uint32_t upto = p->tokens[p->pos].offset;
    while (p->problems_told < p->problem_count && !p->stopped) {
        const struct scan_problem *one = &p->problems[p->problems_told];
        if (one->loc.offset > upto)
            return;
        p->problems_told++;
        diag_error(p->diag, one->loc, "%s", one->message);
        if (one->note)
            diag_note(p->diag, one->loc, "%s", one->note);
        if (one->insert) {
            parse_is_foreign(p);
            diag_fix(p->diag, one->remove, "%s", one->insert);
        }
        p->stopped = diag_full(p->diag);
    }
}

void parse_go_to(struct parser *p, uint32_t pos)
{
    if (pos > p->count - 1)
        pos = p->count - 1;
    if (pos > 0)
        p->previous = pos - 1;
    p->pos = pos;
    parse_tell_problems(p);
}

void parse_advance(struct parser *p)
{
    if (!p->panic && !p->stopped)
        parse_go_to(p, p->pos + 1);
}

bool parse_accept(struct parser *p, enum token_kind kind)
{
    if (!parse_at(p, kind) || p->panic || p->stopped)
        return false;
    parse_advance(p);
    return true;
}

bool parse_accept_word(struct parser *p, const char *word)
{
    if (!parse_at_word(p, word))
        return false;
    parse_advance(p);
    return true;
}

const char *token_text(struct parser *p, const struct token *t)
{
    return arena_string(p->arena, p->source->text + t->offset, t->length);
}

const char *token_shown(struct parser *p, const struct token *t)
{
    enum { SHOWN = 40 };
    if (t->kind == TOK_END)
        return "the end of the text";
    if (t->kind == TOK_STRING)
        return "a string";
    const char *text = p->source->text + t->offset;
    return t->length > SHOWN ? arena_printf(p->arena, "'%.*s…'", SHOWN, text)
                             : arena_printf(p->arena, "'%.*s'", (int)t->length, text);
}

struct loc token_loc(const struct parser *p, const struct token *t)
{
    return (struct loc){p->source, t->offset, t->length};
}

struct loc parse_here(const struct parser *p)
{
    return token_loc(p, &p->tokens[p->pos]);
}

struct loc parse_range_from(const struct parser *p, uint32_t first)
{
    const struct token *a = &p->tokens[first], *b = &p->tokens[p->previous];
    if (b < a)
        b = a;
    return (struct loc){p->source, a->offset, b->offset + b->length - a->offset};
}

static bool complain_v(struct parser *p, struct loc where, const char *format, va_list args)
{
    parse_tell_problems(p);
    bool echo = p->error_pos == p->pos || p->tokens[p->pos].kind == TOK_BAD;
    if (p->panic || p->stopped || echo)
        return false;
    diag_error(p->diag, where, "%s", arena_vprintf(p->arena, format, args));
    p->error_pos = p->pos;
    p->stopped = diag_full(p->diag);
    return true;
}

bool parse_complain(struct parser *p, struct loc where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool told = complain_v(p, where, format, args);
    va_end(args);
    return told;
}

bool parse_fail(struct parser *p, struct loc where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bool told = complain_v(p, where, format, args);
    va_end(args);
    p->panic = true;
    return told;
}

void parse_note(struct parser *p, struct loc where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    diag_note(p->diag, where, "%s", arena_vprintf(p->arena, format, args));
    va_end(args);
}

void parse_note_write(struct parser *p, struct loc where, const char *text)
{
    diag_write(p->diag, where, text);
}

void parse_fix(struct parser *p, struct loc where, const char *text)
{
    diag_fix(p->diag, where, "%s", text);
}

struct loc parse_with_blanks(const struct parser *p, struct loc token)
{
    const char *text = p->source->text;
    while (text[token.offset + token.length] == ' ')
        token.length++;
    return token;
}

void parse_is_foreign(struct parser *p)
{
    diag_code(p->diag, CODE_FOREIGN);
}

bool parse_fail_expected(struct parser *p, const char *what)
{
    return parse_fail(p, parse_here(p), "expected %s, saw %s", what,
                      token_shown(p, &p->tokens[p->pos]));
}

bool parse_expect(struct parser *p, enum token_kind kind, const char *after)
{
    if (parse_accept(p, kind))
        return true;
    parse_fail(p, parse_here(p), "expected '%s' %s, saw %s", token_table[kind].text, after,
               token_shown(p, &p->tokens[p->pos]));
    return false;
}

/* Moves the parser after the partner of the bracket at token `open`. Returns false if the
 * partner is not ahead. */
static bool recover_to_close(struct parser *p, uint32_t open)
{
    uint32_t close = p->tokens[open].match;
    if (p->stopped || close == NO_MATCH || close < p->pos)
        return false;
    p->panic = false;
    parse_go_to(p, close + 1);
    return true;
}

void parse_expect_close(struct parser *p, uint32_t open, const char *after)
{
    enum token_kind kind = p->tokens[open].kind == TOK_LPAREN     ? TOK_RPAREN
                           : p->tokens[open].kind == TOK_LBRACKET ? TOK_RBRACKET
                                                                  : TOK_RBRACE;
    if (parse_accept(p, kind))
        return;
    if (parse_complain(p, parse_here(p), "expected '%s' %s, saw %s", token_table[kind].text, after,
                       token_shown(p, &p->tokens[p->pos])))
        parse_note(p, token_loc(p, &p->tokens[open]), "'%s' was opened here",
                   token_table[p->tokens[open].kind].text);
    /* After `if (a < b {` and `x = f(a;` the rest of the text parses without the bracket. */
    if (kind == TOK_RPAREN && (parse_at(p, TOK_LBRACE) || parse_at(p, TOK_SEMICOLON)))
        return;
    if (!recover_to_close(p, open))
        p->panic = true;
}

void parse_expect_semicolon(struct parser *p, const char *after)
{
    if (parse_accept(p, TOK_SEMICOLON) || p->panic || p->stopped)
        return;
    const struct token *last = &p->tokens[p->previous], *next = parse_peek(p);
    struct loc end = {p->source, last->offset + last->length, 0};
    if (parse_complain(p, end, "expected ';' %s, saw %s", after, token_shown(p, next)))
        parse_fix(p, end, ";");
    p->panic = !next->line_start && next->kind != TOK_RBRACE && next->kind != TOK_ELSE;
}

const char *parse_expect_name(struct parser *p, const char *what)
{
    if (parse_at(p, TOK_NAME) &&
        dtype_by_name(p->source->text + parse_peek(p)->offset, parse_peek(p)->length) == DT_NONE) {
        const char *text = token_text(p, parse_peek(p));
        parse_advance(p);
        return text;
    }
    const struct token *t = &p->tokens[p->pos];
    bool reserved = t->kind == TOK_NAME || token_table[t->kind].keyword;
    if (parse_fail_expected(p, what) && reserved)
        parse_note(p, parse_here(p), "`%s` is a word of the language: choose another name",
                   token_text(p, t));
    return "";
}

void parse_skip_construct(struct parser *p)
{
    while (!parse_at(p, TOK_END) && !parse_at(p, TOK_RBRACE)) {
        const struct token *t = parse_peek(p);
        bool opens = t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET || t->kind == TOK_LBRACE;
        parse_go_to(p, (opens && t->match != NO_MATCH ? t->match : p->pos) + 1);
        if (t->kind == TOK_LBRACE || t->kind == TOK_SEMICOLON)
            return;
    }
}

bool parse_enter(struct parser *p)
{
    if (p->depth < MAX_NESTING) {
        p->depth++;
        return true;
    }
    if (parse_fail(p, parse_here(p), "nested more than %d levels deep", MAX_NESTING))
        parse_note(
            p, parse_here(p),
            "name parts of it: `i32 t = …;`, or a `fn`; statements, brackets, prefix operators "
            "and `else if`s are levels");
    p->stopped = true;
    p->depth++; /* the caller calls leave() in either case */
    return false;
}

void parse_leave(struct parser *p)
{
    p->depth--;
}

bool parse_name_known(const struct name_table *names, const struct parser *p, const struct token *t)
{
    return t->kind == TOK_NAME &&
           name_table_find(names, p->source->text + t->offset, t->length) != NULL;
}

bool parse_is_declared_type(const struct parser *p, const struct token *t)
{
    return parse_name_known(&p->type_names, p, t) || parse_name_known(&p->fn_types, p, t);
}

bool parse_at_foreign(const struct parser *p, const char *word)
{
    return parse_at_word(p, word) && !parse_is_declared_type(p, parse_peek(p));
}

static void make_words(struct arena *a, const char *table, struct name_table *words)
{
    name_table_init(words, a);
    for (const char *word = table; *word; word += strlen(word) + 1) {
        const size_t length = strlen(word);
        struct name_entry *entry = name_table_add(words, word, length);
        word += length + 1;
        entry->number = (uint32_t)(word - table);
    }
}

/* Looks the word up in a table of pairs of texts, each ended by 0. Returns NULL if it is not
 * there, or if the module has a fn or a type of that name. */
static const char *word_in(const struct parser *p, const struct token *t, enum parse_words which,
                           const char *table)
{
    struct name_table *words = &p->words[which];
    if (t->kind != TOK_NAME)
        return NULL;
    if (!words->arena)
        make_words(p->arena, table, words);
    const struct name_entry *found = name_table_find(words, p->source->text + t->offset, t->length);
    return !found || parse_name_known(&p->fn_names, p, t) || parse_is_declared_type(p, t)
               ? NULL
               : table + found->number;
}

const char *parse_c_type(const struct parser *p, const struct token *t)
{
    static const char table[] = "int\0i32\0"
                                "float\0f32\0"
                                "double\0f64\0"
                                "half\0f16\0"
                                "char\0i8\0"
                                "short\0i16\0"
                                "long\0i64\0"
                                "unsigned\0u32\0"
                                "signed\0i32\0"
                                "uint\0u32\0"
                                "size_t\0i64\0"
                                "ptrdiff_t\0i64\0"
                                "int8_t\0i8\0"
                                "int16_t\0i16\0"
                                "int32_t\0i32\0"
                                "int64_t\0i64\0"
                                "uint8_t\0u8\0"
                                "uint16_t\0u16\0"
                                "uint32_t\0u32\0"
                                "uint64_t\0u64\0"
                                "int8\0i8\0"
                                "int16\0i16\0"
                                "int32\0i32\0"
                                "int64\0i64\0"
                                "uint8\0u8\0"
                                "uint16\0u16\0"
                                "uint32\0u32\0"
                                "uint64\0u64\0"
                                "float16\0f16\0"
                                "float32\0f32\0"
                                "float64\0f64\0"
                                "bfloat16\0bf16\0"
                                "__half\0f16\0"
                                "_Bool\0bool\0"
                                "__bfloat16\0bf16\0"
                                "__nv_bfloat16\0bf16\0"
                                "_Float16\0f16\0"
                                "fp8_e4m3\0e4m3\0"
                                "fp8_e5m2\0e5m2\0"
                                "f8e4m3\0e4m3\0"
                                "f8e5m2\0e5m2\0"
                                "float8_e4m3\0e4m3\0"
                                "float8_e5m2\0e5m2\0"
                                "fp8\0e4m3\0"
                                "f8\0e4m3\0";
    return word_in(p, t, WORDS_C_TYPES, table);
}

const char *parse_near_keyword(struct parser *p, const struct token *t, const unsigned char *kinds,
                               size_t count)
{
    const char *words[8];
    assert(count <= sizeof words / sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[i] = token_table[kinds[i]].text;
    return t->kind == TOK_NAME ? text_nearest(token_text(p, t), words, count) : NULL;
}

const char *parse_future_type(const struct parser *p, const struct token *t)
{
    static const char table[] = "u1\0\0u2\0\0u3\0\0u4\0\0u5\0\0u6\0\0u7\0\0"
                                "i1\0\0i2\0\0i3\0\0i4\0\0i5\0\0i6\0\0i7\0\0"
                                "f3\0\0f4\0\0f5\0\0f6\0\0f7\0\0fp4\0\0fp6\0\0";
    if (!word_in(p, t, WORDS_FUTURE_TYPES, table))
        return NULL;
    return p->source->text[t->offset] == 'f' ? "a float of less than 8 bits"
                                             : "a type of less than 8 bits";
}

bool parse_is_type_name(const struct parser *p, const struct token *t)
{
    if (t->kind != TOK_NAME)
        return false;
    return dtype_by_name(p->source->text + t->offset, t->length) != DT_NONE ||
           parse_is_declared_type(p, t) || parse_c_type(p, t) || parse_future_type(p, t);
}

bool parse_is_future_word(const struct parser *p, const struct token *t)
{
    static const char table[] = "tensor\0\0"
                                "next_tile\0\0"
                                "layout\0\0";
    return word_in(p, t, WORDS_FUTURE, table);
}

/* Returns true if the word has not been reported yet, and marks it as reported. */
static bool first_time(struct parser *p, const struct token *t)
{
    if (p->panic || p->stopped || parse_name_known(&p->told, p, t))
        return false;
    name_table_entry(&p->told, token_text(p, t), t->length);
    return true;
}

void parse_report_future(struct parser *p, const struct token *t)
{
    const char *word = token_text(p, t);
    bool first = p->panic || p->stopped || t->kind != TOK_NAME || first_time(p, t);
    if (first && strcmp(word, "layout") == 0)
        parse_complain(p, token_loc(p, t),
                       "`layout` cannot be given yet: the compiler chooses layouts");
    else if (first)
        parse_complain(p, token_loc(p, t), "`%s` is not available yet", word);
}

/* Returns the text "there are f64, f32 … and bool". */
static const char *types_text(struct parser *p)
{
    struct text out;
    text_init(&out, p->arena);
    for (int t = 0; t < DT_COUNT; t++)
        text_printf(&out, "%s%s",
                    t == 0              ? "there are "
                    : t + 1 == DT_COUNT ? " and "
                                        : ", ",
                    dtype_table[t].name);
    return out.data;
}

void parse_report_future_type(struct parser *p, const struct token *t, const char *what)
{
    if (first_time(p, t) && parse_complain(p, token_loc(p, t), "`%s`, %s, is not available yet",
                                           token_text(p, t), what))
        parse_note(p, token_loc(p, t), "%s", types_text(p));
}

bool parse_in_first_column(const struct parser *p, const struct token *t)
{
    return t->offset == 0 || p->source->text[t->offset - 1] == '\n';
}

struct node *node_new(struct parser *p, enum node_kind kind, struct loc loc)
{
    struct node *n = arena_new(p->arena, struct node);
    n->kind = kind;
    n->loc = loc;
    n->op = OP_COUNT;
    return n;
}

struct node *node_int(struct parser *p, int64_t i, struct loc loc)
{
    struct node *n = node_new(p, N_INT, loc);
    n->i = i;
    return n;
}

struct node *node_name(struct parser *p, const char *text, struct loc loc)
{
    struct node *n = node_new(p, N_NAME, loc);
    n->text = text;
    return n;
}

void node_below(struct parser *p, struct node *parent, const struct node *child)
{
    if (child->height >= parent->height)
        parent->height = child->height + 1;
    if (parent->height > MAX_HEIGHT && !p->stopped) {
        if (parse_fail(p, parse_here(p), "the expression is more than %d levels deep", MAX_HEIGHT))
            parse_note(p, parse_here(p), "name parts of it: `i32 t = …;`");
        p->stopped = true;
    }
}

bool parse_at_launch(const struct parser *p)
{
    const struct token *shift = parse_peek_ahead(p, 1), *less = parse_peek_ahead(p, 2);
    return shift->kind == TOK_SHL && less->kind == TOK_LT && less->offset == shift->offset + 2;
}
