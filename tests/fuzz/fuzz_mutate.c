/* Damaged copies. Token edits keep most of a text's sense: a kernel with another operator,
 * number or name often still compiles, and is a kernel that no programmer would write. */
#include "fuzz.h"

#include "base/dtype.h"
#include "lang/scan.h"

#include <string.h>

enum { MAX_TOKENS = 20000 };

/* One token as text; `space`: the white space before it in the source. */
struct piece {
    const char *text;
    size_t length;
    enum token_kind kind;
    bool line_start;
};
typedef VEC(struct piece) piece_list;

static const char *const numbers[] = {
    "0",    "1",          "2",          "3",
    "4",    "5",          "7",          "8",
    "16",   "32",         "64",         "127",
    "256",  "1024",       "65536",      "2147483647",
    "-1",   "-8",         "1.0",        "0.5",
    "1e30", "4294967295", "2147483648", "9223372036854775807",
    "inf",  "nan",        "true",       "18446744073709551615",
};
static const char *const types[] = {"f64", "f32", "f16", "bf16", "i64", "i32",  "i16",
                                    "i8",  "u64", "u32", "u16",  "u8",  "bool", "T"};
static const char *const infix[] = {"+",  "-",  "*",  "/",  "%", "<<", ">>", "<",  ">",
                                    "<=", ">=", "==", "!=", "&", "|",  "^",  "&&", "||"};
static const char *const assigns[] = {
    "=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="};
static const char *const words[] = {
    "sync();",
    "sync() added;",
    "async_commit();",
    "async_wait(0);",
    "break;",
    "continue;",
    "return;",
    "if",
    "for",
    "while",
    "else",
    "unroll",
    "pipeline(2)",
    "async",
    "shared",
    "reg",
    "global",
    "const",
    "static",
    "ensures",
    "kernel",
    "fn",
    "dot",
    "trans",
    "sum",
    "max",
    "min",
    "where",
    "exp",
    "iota()",
    "block.x",
    "thread.x",
    "grid.y",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    ",",
    "+:",
    ":",
    "?",
    "!",
    "~",
    "-",
    "axis = 1",
    "axis = 0",
    "inside",
    "at(0)",
    "strides(1, 1)",
    "typeof(x)",
    "bits<u32>(x)",
    "reshape",
    "repeat",
    "scan(add,",
    "atomic_add",
    "free",
    "print",
    "assume",
    "lock",
    "unlock",
    "static_assert",
    "grid(2)",
    "warps(1)",
    "threads(4, 4)",
    "cooperative",
    "cdiv",
    "(f16)",
    "(i32)",
};
#define PICK(r, table) ((table)[rng_below((r), (int)(sizeof(table) / sizeof *(table)))])

static piece_list split(struct arena *a, const char *text, size_t n)
{
    struct source source = {"mutate", text, n};
    struct token_list list = scan_text(a, &source);
    piece_list pieces = {0};
    for (uint32_t i = 0; i + 1 < list.count && i < MAX_TOKENS; i++) {
        const struct token *t = &list.tokens[i];
        struct piece one = {text + t->offset, t->length, t->kind, t->line_start};
        vec_push(a, &pieces, one);
    }
    return pieces;
}

static struct piece word_piece(const char *word)
{
    return (struct piece){word, strlen(word), TOK_NAME, false};
}

static bool is_infix(const struct piece *p)
{
    return token_table[p->kind].infix != OP_COUNT;
}

static bool is_assign(const struct piece *p)
{
    return p->kind == TOK_ASSIGN || token_table[p->kind].compound != OP_COUNT;
}

/* Replaces a token by one of the same kind: a number by a number, an operator by an operator, a
 * name by a name of the text. */
static void replace_alike(struct rng *r, piece_list *list, size_t at)
{
    struct piece *p = &list->data[at];
    bool is_type = dtype_by_name(p->text, p->length) != DT_NONE;
    if (p->kind == TOK_INT || p->kind == TOK_FLOAT)
        *p = word_piece(PICK(r, numbers));
    else if (is_infix(p))
        *p = word_piece(PICK(r, infix));
    else if (is_assign(p))
        *p = word_piece(PICK(r, assigns));
    else if (p->kind == TOK_NAME && is_type)
        *p = word_piece(PICK(r, types));
    else if (p->kind == TOK_NAME)
        for (int tries = 0; tries < 20; tries++) {
            const struct piece *other = &list->data[rng_below(r, (int)list->count)];
            if (other->kind != TOK_NAME)
                continue;
            p->text = other->text;
            p->length = other->length;
            return;
        }
}

static void erase(piece_list *list, size_t at, size_t count)
{
    if (at + count > list->count)
        count = list->count - at;
    memmove(list->data + at, list->data + at + count,
            (list->count - at - count) * sizeof *list->data);
    list->count -= count;
}

static void insert(struct arena *a, piece_list *list, size_t at, struct piece one)
{
    vec_push(a, list, one);
    memmove(list->data + at + 1, list->data + at, (list->count - 1 - at) * sizeof *list->data);
    list->data[at] = one;
}

/* Returns the number of tokens from `at` to the end of its statement. */
static size_t statement_length(const piece_list *list, size_t at)
{
    size_t n = 0;
    int depth = 0;
    while (at + n < list->count && n < 400) {
        enum token_kind kind = list->data[at + n++].kind;
        depth +=
            (kind == TOK_LPAREN || kind == TOK_LBRACE) - (kind == TOK_RPAREN || kind == TOK_RBRACE);
        if (depth < 0)
            return n - 1;
        if (depth == 0 && (kind == TOK_SEMICOLON || kind == TOK_RBRACE))
            return n;
    }
    return n;
}

/* Returns a token that begins a line, and therefore usually a statement. */
static size_t some_line(struct rng *r, const piece_list *list)
{
    size_t at = (size_t)rng_below(r, (int)list->count);
    while (at > 0 && !list->data[at].line_start)
        at--;
    return at;
}

/* Removes a statement, doubles it, or moves it elsewhere. */
static void edit_statement(struct arena *a, struct rng *r, piece_list *list)
{
    size_t at = some_line(r, list), n = statement_length(list, at);
    struct piece *copy = arena_copy(a, list->data + at, n * sizeof *copy);
    int what = rng_below(r, 3);
    if (what != 1)
        erase(list, at, n);
    if (what == 0 || list->count == 0)
        return;
    size_t to = what == 1 ? at : some_line(r, list);
    for (size_t i = n; i > 0; i--)
        insert(a, list, to, copy[i - 1]);
}

static void edit_token(struct arena *a, struct rng *r, piece_list *list)
{
    size_t at = (size_t)rng_below(r, (int)list->count);
    size_t other = (size_t)rng_below(r, (int)list->count);
    struct piece kept = list->data[at];
    switch (rng_below(r, 14)) {
    case 0: erase(list, at, 1); break;
    case 1: insert(a, list, other, kept); break;
    case 2:
        list->data[at] = list->data[other];
        list->data[other] = kept;
        break;
    case 3: list->data[at] = word_piece(PICK(r, words)); break;
    case 4: insert(a, list, at, word_piece(PICK(r, words))); break;
    case 5: erase(list, at, (size_t)rng_below(r, 8)); break;
    case 6:
    case 7:
    case 8: edit_statement(a, r, list); break;
    default: replace_alike(r, list, at); break;
    }
}

static void join(struct text *out, const piece_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            text_add_char(out, list->data[i].line_start ? '\n' : ' ');
        text_add_n(out, list->data[i].text, list->data[i].length);
    }
    text_add_char(out, '\n');
}

void mutate_tokens(struct text *out, struct rng *r, const char *text, size_t n, int edits)
{
    piece_list list = split(out->arena, text, n);
    for (int i = 0; i < edits && list.count > 0; i++)
        edit_token(out->arena, r, &list);
    join(out, &list);
}

void mutate_bytes(struct text *out, struct rng *r, const char *text, size_t n, int edits)
{
    static const char bytes[] = "()[]{};,:=+-*/%<>&|^~!?.\"'\\#@ \n\t0x9eE_\x80\xC3\xFF";
    size_t start = out->length;
    text_add_n(out, text, n);
    for (int i = 0; i < edits && out->length > start; i++) {
        size_t at = start + (size_t)rng_below(r, (int)(out->length - start));
        switch (rng_below(r, 4)) {
        case 0: out->data[at] = (char)rng_below(r, 256); break;
        case 1: out->data[at] = bytes[rng_below(r, (int)sizeof bytes)]; break;
        case 2:
            if (rng_chance(r, 10))
                out->length = at; /* cut off */
            break;
        default:
            text_add_char(out, ' ');
            memmove(out->data + at + 1, out->data + at, out->length - 1 - at);
            out->data[at] = bytes[rng_below(r, (int)sizeof bytes)];
        }
    }
}
