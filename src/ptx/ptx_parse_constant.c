/* Constant expressions. PTX ISA, constants, summary of constant expression evaluation rules:
 * integers are .s64; they are .u64 if they do not fit or end in U. Floats are .f64.
 *
 *   constant = C's expressions without assignment, lowest first: ?: || && | ^ & == != < <= > >=
 *              << >> + - * / % unary
 *   unary    = { + | - | ! | ~ | (.s64) | (.u64) } primary
 *   primary  = NUMBER | WARP_SZ | "(" constant ")" */
#include "ptx/ptx_parser.h"

#include <string.h>

enum { WARP_SIZE = 32, UNARY_LEVEL = 10 };

struct reader {
    struct ptx_parser *p;
    int depth;
};

static bool read_binary(struct reader *r, int level, struct ptx_constant *c);

/* Enters a nested expression. A failed parse stops here, so only successes unwind the depth. */
static bool go_down(struct reader *r)
{
    if (r->depth++ <= PTX_MOST_DEPTH)
        return true;
    diag_error(r->p->diag, ptx_here(r->p), "this constant is nested too deeply");
    return false;
}

static bool read_conditional(struct reader *r, struct ptx_constant *c)
{
    struct ptx_constant yes, no;
    if (!read_binary(r, 0, c))
        return false;
    if (!ptx_accept(r->p, '?'))
        return true;
    struct loc where = ptx_here(r->p);
    if (!go_down(r) || !read_conditional(r, &yes) ||
        !ptx_expect(r->p, ':', "in a conditional constant") || !read_conditional(r, &no))
        return false;
    r->depth--;
    if (c->kind != PTX_CONSTANT_INTEGER || yes.kind != PTX_CONSTANT_INTEGER ||
        no.kind != PTX_CONSTANT_INTEGER) {
        diag_error(r->p->diag, where, "a conditional constant is of integers");
        return false;
    }
    *c = c->bits ? yes : no;
    return true;
}

static bool negate_float(struct ptx_constant *c)
{
    if (c->kind == PTX_CONSTANT_FLOAT)
        c->bits ^= 0x80000000u;
    else
        c->bits ^= UINT64_C(1) << 63;
    return true;
}

static bool read_parenthesis(struct reader *r, struct ptx_constant *c)
{
    struct ptx_parser *p = r->p;
    if (p->token.kind == PTX_TOKEN_DOT) { /* a cast: it changes no bits */
        bool is_unsigned = ptx_is_dot(p, "u64");
        if (!is_unsigned && !ptx_is_dot(p, "s64"))
            return ptx_expected(p, ".s64 or .u64");
        ptx_advance(p);
        if (!ptx_expect(p, ')', "after the type of a constant") || !go_down(r) ||
            !read_binary(r, UNARY_LEVEL, c))
            return false;
        r->depth--;
        if (c->kind != PTX_CONSTANT_INTEGER)
            return ptx_expected(p, "an integer constant");
        c->is_unsigned = is_unsigned;
        return true;
    }
    return read_conditional(r, c) && ptx_expect(p, ')', "after a constant");
}

static bool read_primary(struct reader *r, struct ptx_constant *c)
{
    struct ptx_parser *p = r->p;
    c->bits = p->token.bits;
    c->is_unsigned = p->token.is_unsigned;
    switch (p->token.kind) {
    case PTX_TOKEN_INTEGER: c->kind = PTX_CONSTANT_INTEGER; break;
    case PTX_TOKEN_FLOAT: c->kind = PTX_CONSTANT_FLOAT; break;
    case PTX_TOKEN_DOUBLE: c->kind = PTX_CONSTANT_DOUBLE; break;
    case PTX_TOKEN_NAME:
        if (!ptx_is_word(p, "WARP_SZ"))
            return ptx_expected(p, "a constant");
        *c = (struct ptx_constant){PTX_CONSTANT_INTEGER, false, WARP_SIZE};
        break;
    default:
        if (!ptx_accept(p, '('))
            return ptx_expected(p, "a constant");
        return read_parenthesis(r, c);
    }
    ptx_advance(p);
    return true;
}

static bool read_unary(struct reader *r, struct ptx_constant *c)
{
    struct ptx_parser *p = r->p;
    static const char signs[] = "+-!~";
    int sign = p->token.kind == PTX_TOKEN_PUNCTUATION ? p->token.punctuation : 0;
    if (!sign || sign > 255 || !strchr(signs, sign))
        return read_primary(r, c);
    if (!go_down(r))
        return false;
    ptx_advance(p);
    if (!read_unary(r, c))
        return false;
    r->depth--;
    if (c->kind != PTX_CONSTANT_INTEGER)
        return sign == '-' ? negate_float(c)
                           : sign == '+' || ptx_expected(p, "an integer constant");
    if (sign == '-')
        c->bits = -c->bits;
    else if (sign == '!')
        *c = (struct ptx_constant){PTX_CONSTANT_INTEGER, false, !c->bits};
    else if (sign == '~')
        *c = (struct ptx_constant){PTX_CONSTANT_INTEGER, true, ~c->bits};
    return true;
}

static const struct {
    int sign, level;
} operators[] = {{PTX_TWO('|', '|'), 0},
                 {PTX_TWO('&', '&'), 1},
                 {'|', 2},
                 {'^', 3},
                 {'&', 4},
                 {PTX_TWO('=', '='), 5},
                 {PTX_TWO('!', '='), 5},
                 {'<', 6},
                 {PTX_TWO('<', '='), 6},
                 {'>', 6},
                 {PTX_TWO('>', '='), 6},
                 {PTX_TWO('<', '<'), 7},
                 {PTX_TWO('>', '>'), 7},
                 {'+', 8},
                 {'-', 8},
                 {'*', 9},
                 {'/', 9},
                 {'%', 9}};

static bool is_operator(const struct ptx_parser *p, int level)
{
    if (p->token.kind != PTX_TOKEN_PUNCTUATION)
        return false;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].sign == p->token.punctuation && operators[i].level == level)
            return true;
    return false;
}

static uint64_t divide(int sign, uint64_t a, uint64_t b, bool is_unsigned)
{
    int64_t x = (int64_t)a, y = (int64_t)b;
    if (is_unsigned)
        return sign == '/' ? a / b : a % b;
    if (y == -1) /* the least integer has no negative */
        return sign == '/' ? -a : 0;
    return (uint64_t)(sign == '/' ? x / y : x % y);
}

static uint64_t shift(int sign, uint64_t a, uint64_t b, bool is_unsigned)
{
    if (sign == PTX_TWO('<', '<'))
        return b > 63 ? 0 : a << b;
    uint64_t fill = (int64_t)a < 0 && !is_unsigned ? ~UINT64_C(0) : 0;
    if (b > 63)
        return fill;
    return b ? a >> b | fill << (64 - b) : a;
}

static uint64_t apply(int sign, uint64_t a, uint64_t b, bool is_unsigned)
{
    const uint64_t top = is_unsigned ? 0 : UINT64_C(1) << 63; /* the signed order is the order of
                                                               * x ^ top */
    const uint64_t x = a ^ top, y = b ^ top;
    switch (sign) {
    case PTX_TWO('|', '|'): return a || b;
    case PTX_TWO('&', '&'): return a && b;
    case '|': return a | b;
    case '^': return a ^ b;
    case '&': return a & b;
    case PTX_TWO('=', '='): return a == b;
    case PTX_TWO('!', '='): return a != b;
    case '<': return x < y;
    case PTX_TWO('<', '='): return x <= y;
    case '>': return x > y;
    case PTX_TWO('>', '='): return x >= y;
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    default: return divide(sign, a, b, is_unsigned);
    }
}

static bool is_shift(int sign)
{
    return sign == PTX_TWO('<', '<') || sign == PTX_TWO('>', '>');
}

/* Applies the usual conversions, except that `%` is a .u64, a shift has the type of its left
 * operand, and a comparison gives .s64 (as in ptxas). */
static void combine(int sign, struct ptx_constant *c, const struct ptx_constant *right)
{
    bool keeps = sign == '|' || sign == '^' || sign == '&' || sign == '+' || sign == '-' ||
                 sign == '*' || sign == '/' || sign == '%';
    bool is_unsigned = c->is_unsigned || right->is_unsigned || sign == '%';
    if (is_shift(sign)) {
        c->bits = shift(sign, c->bits, right->bits, c->is_unsigned);
        return;
    }
    c->bits = apply(sign, c->bits, right->bits, is_unsigned);
    c->is_unsigned = keeps && is_unsigned;
}

static double as_double(const struct ptx_constant *c)
{
    double d;
    memcpy(&d, &c->bits, sizeof d);
    return d;
}

/* Combines two floats (1.5, 0d…). Returns false if the operator is not for floats. */
static bool combine_floats(int sign, struct ptx_constant *c, const struct ptx_constant *right)
{
    double a = as_double(c), b = as_double(right);
    switch (sign) {
    case '+': a += b; break;
    case '-': a -= b; break;
    case '*': a *= b; break;
    case '/': a /= b; break;
    default: return false;
    }
    memcpy(&c->bits, &a, sizeof a);
    return true;
}

static bool calculate(struct ptx_parser *p, struct loc where, int sign, struct ptx_constant *c,
                      const struct ptx_constant *right)
{
    bool integers = c->kind == PTX_CONSTANT_INTEGER && right->kind == PTX_CONSTANT_INTEGER;
    bool doubles = c->kind == PTX_CONSTANT_DOUBLE && right->kind == PTX_CONSTANT_DOUBLE;
    if (integers && (sign == '/' || sign == '%') && right->bits == 0) {
        diag_error(p->diag, where, "division by zero in a constant");
        return false;
    }
    if (integers) {
        combine(sign, c, right);
        return true;
    }
    if (doubles && combine_floats(sign, c, right))
        return true;
    diag_error(p->diag, where, "this operator does not take these constants");
    return false;
}

static bool read_binary(struct reader *r, int level, struct ptx_constant *c)
{
    struct ptx_parser *p = r->p;
    if (level == UNARY_LEVEL)
        return read_unary(r, c);
    if (level == 0 && !go_down(r))
        return false;
    if (!read_binary(r, level + 1, c))
        return false;
    while (is_operator(p, level)) {
        struct loc where = ptx_here(p);
        int sign = p->token.punctuation;
        struct ptx_constant right;
        ptx_advance(p);
        if (!read_binary(r, level + 1, &right) || !calculate(p, where, sign, c, &right))
            return false;
    }
    r->depth -= level == 0;
    return true;
}

bool ptx_read_constant(struct ptx_parser *p, struct ptx_constant *c)
{
    struct reader r = {p, 0};
    return read_conditional(&r, c);
}

bool ptx_read_offset(struct ptx_parser *p, int64_t *offset)
{
    *offset = 0;
    bool minus = ptx_is_at(p, '-');
    if (!minus && !ptx_is_at(p, '+'))
        return true;
    struct loc where = ptx_here(p);
    struct ptx_constant c;
    ptx_advance(p);
    if (!ptx_read_constant(p, &c))
        return false;
    if (c.kind != PTX_CONSTANT_INTEGER) {
        diag_error(p->diag, where, "an offset is an integer");
        return false;
    }
    *offset = (int64_t)(minus ? -c.bits : c.bits);
    return true;
}
