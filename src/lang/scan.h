/* From bytes to tokens.
 *
 * The whole text is scanned at once, so that the parser may look ahead without limit, and so
 * that brackets are paired before parsing: after an error the parser knows the end of the
 * construct. Text that the scanner cannot read becomes a TOK_BAD and a problem. The parser
 * reports problems as it passes them, so that messages come in the order of the text. */
#ifndef TW_SCAN_H
#define TW_SCAN_H

#include "base/arena.h"
#include "base/diag.h"
#include "tile/ops.h"

/* Reserved words. All other words of the grammar (grid, at, strides, inside, hint …) have their
 * meaning only at their places in it. */
#define KEYWORDS(X)                                                                                \
    X(CONST, "const")                                                                              \
    X(IMPORT, "import")                                                                            \
    X(TUNE, "tune")                                                                                \
    X(TYPE, "type")                                                                                \
    X(REQUIRE, "require")                                                                          \
    X(STATIC_ASSERT, "static_assert")                                                              \
    X(FN, "fn")                                                                                    \
    X(KERNEL, "kernel")                                                                            \
    X(STATIC, "static")                                                                            \
    X(GLOBAL, "global")                                                                            \
    X(SHARED, "shared")                                                                            \
    X(REG, "reg")                                                                                  \
    X(TYPEOF, "typeof")                                                                            \
    X(IF, "if")                                                                                    \
    X(ELSE, "else")                                                                                \
    X(FOR, "for")                                                                                  \
    X(WHILE, "while")                                                                              \
    X(DO, "do")                                                                                    \
    X(BREAK, "break")                                                                              \
    X(CONTINUE, "continue")                                                                        \
    X(RETURN, "return")                                                                            \
    X(ENSURES, "ensures")                                                                          \
    X(UNROLL, "unroll")                                                                            \
    X(PIPELINE, "pipeline")                                                                        \
    X(ASYNC, "async")                                                                              \
    X(TRUE, "true")                                                                                \
    X(FALSE, "false")                                                                              \
    X(INF, "inf")                                                                                  \
    X(NAN, "nan")

/* X(id, text, infix op, op of a compound assignment), with COUNT for no op. Longer texts come
 * first, because the scanner tries them in this order. */
#define PUNCTUATORS(X)                                                                             \
    X(SHL_ASSIGN, "<<=", COUNT, SHL)                                                               \
    X(SHR_ASSIGN, ">>=", COUNT, SHR)                                                               \
    X(PLUS_COLON, "+:", COUNT, COUNT)                                                              \
    X(INCREMENT, "++", COUNT, COUNT)                                                               \
    X(DECREMENT, "--", COUNT, COUNT)                                                               \
    X(ARROW, "->", COUNT, COUNT)                                                                   \
    X(ADD_ASSIGN, "+=", COUNT, ADD)                                                                \
    X(SUB_ASSIGN, "-=", COUNT, SUB)                                                                \
    X(MUL_ASSIGN, "*=", COUNT, MUL)                                                                \
    X(DIV_ASSIGN, "/=", COUNT, DIV)                                                                \
    X(REM_ASSIGN, "%=", COUNT, REM)                                                                \
    X(AND_ASSIGN, "&=", COUNT, AND)                                                                \
    X(OR_ASSIGN, "|=", COUNT, OR)                                                                  \
    X(XOR_ASSIGN, "^=", COUNT, XOR)                                                                \
    X(SHL, "<<", SHL, COUNT)                                                                       \
    X(SHR, ">>", SHR, COUNT)                                                                       \
    X(LE, "<=", LE, COUNT)                                                                         \
    X(GE, ">=", GE, COUNT)                                                                         \
    X(EQ, "==", EQ, COUNT)                                                                         \
    X(NE, "!=", NE, COUNT)                                                                         \
    X(LAND, "&&", LAND, COUNT)                                                                     \
    X(LOR, "||", LOR, COUNT)                                                                       \
    X(LPAREN, "(", COUNT, COUNT)                                                                   \
    X(RPAREN, ")", COUNT, COUNT)                                                                   \
    X(LBRACKET, "[", COUNT, COUNT)                                                                 \
    X(RBRACKET, "]", COUNT, COUNT)                                                                 \
    X(LBRACE, "{", COUNT, COUNT)                                                                   \
    X(RBRACE, "}", COUNT, COUNT)                                                                   \
    X(COMMA, ",", COUNT, COUNT)                                                                    \
    X(SEMICOLON, ";", COUNT, COUNT)                                                                \
    X(COLON, ":", COUNT, COUNT)                                                                    \
    X(QUESTION, "?", COUNT, COUNT)                                                                 \
    X(ASSIGN, "=", COUNT, COUNT)                                                                   \
    X(DOT, ".", COUNT, COUNT)                                                                      \
    X(PLUS, "+", ADD, COUNT)                                                                       \
    X(MINUS, "-", SUB, COUNT)                                                                      \
    X(STAR, "*", MUL, COUNT)                                                                       \
    X(SLASH, "/", DIV, COUNT)                                                                      \
    X(PERCENT, "%", REM, COUNT)                                                                    \
    X(LT, "<", LT, COUNT)                                                                          \
    X(GT, ">", GT, COUNT)                                                                          \
    X(AMPERSAND, "&", AND, COUNT)                                                                  \
    X(CARET, "^", XOR, COUNT)                                                                      \
    X(BAR, "|", OR, COUNT)                                                                         \
    X(TILDE, "~", COUNT, COUNT)                                                                    \
    X(BANG, "!", COUNT, COUNT)

enum token_kind {
    TOK_END,
    TOK_BAD, /* already reported as a problem */
    TOK_NAME,
    TOK_INT,
    TOK_FLOAT,
    TOK_STRING,
#define X(id, text) TOK_##id,
    KEYWORDS(X)
#undef X
#define X(id, text, infix, compound) TOK_##id,
        PUNCTUATORS(X)
#undef X
            TOK_COUNT
};

struct token_info {
    const char *text; /* of keywords and punctuators; NULL for the rest */
    enum op infix;    /* OP_COUNT: not an infix operator */
    enum op compound; /* `+=`: OP_ADD; OP_COUNT: not a compound assignment */
    bool keyword;
};
extern const struct token_info token_table[TOK_COUNT];

#define NO_MATCH UINT32_MAX

struct token {
    enum token_kind kind;
    uint32_t offset, length;
    uint32_t match;  /* brackets: index of the token that closes or opens this one, or NO_MATCH */
    bool line_start; /* first token of its line */
    bool above_i64;  /* INT: the value is above INT64_MAX, and i holds the bits of the u64 */
    union {
        int64_t i;        /* INT */
        double f;         /* FLOAT */
        const char *text; /* STRING: without quotes, escapes resolved */
    };
};

/* A fault that the scanner found. */
struct scan_problem {
    struct loc loc;
    const char *message, *note; /* note may be NULL */
    struct loc remove;          /* the fix replaces this range by `insert` */
    const char *insert;         /* NULL: there is no fix */
};

struct token_list {
    struct token *tokens; /* the last one is TOK_END */
    uint32_t count;
    struct scan_problem *problems;
    size_t problem_count;
};

struct token_list scan_text(struct arena *a, const struct source *source);
/* Returns the index of the first token at the offset or after it. */
uint32_t scan_token_at(const struct token_list *tokens, uint32_t offset);

/* Returns the number of bytes of the valid UTF-8 sequence at s, which has n bytes left; 0: no
 * valid sequence. *code gets the character. */
size_t scan_utf8_decode(const char *s, size_t n, uint32_t *code);
/* Returns true if a terminal shows the character as itself: not a control character, direction
 * mark or invisible character. */
bool scan_unicode_printable(uint32_t code);

#endif
