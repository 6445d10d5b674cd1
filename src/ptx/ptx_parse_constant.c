/* Constant expressions. PTX ISA, constants, constant-expressions: integers are 64 bits wide.
 *
 *   constant = C's expressions without assignment, lowest first: ?: || && | ^ & == != < <= > >=
 *              << >> + - * / % unary
 *   unary    = { + | - | ! | ~ | (.s64) | (.u64) } primary
 *   primary  = NUMBER | WARP_SZ | "(" constant ")"
 */
#include "ptx/ptx_parser.h"

#include <string.h>

enum { WARP_SIZE = 32 };

struct reader {
    struct ptx_parser *p;
    int depth;
};

static bool read_binary(struct reader *r, int level, struct ptx_constant *c);

static bool read_conditional(struct reader *r, struct ptx_constant *c)
{
    struct ptx_constant yes, no;
    if (!read_binary(r, 0, c))
        return false;
    if (!ptx_accept(r->p, '?'))
        return true;
    if (!read_binary(r, 0, &yes) || !ptx_expect(r->p, ':', "in a conditional constant") ||
        !read_binary(r, 0, &no))
        return false;
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
        ptx_advance(p);
        return ptx_expect(p, ')', "behind the type of a constant") && read_binary(r, 10, c);
    }
    return read_conditional(r, c) && ptx_expect(p, ')', "behind a constant");
}

static bool read_primary(struct reader *r, struct ptx_constant *c)
{
    struct ptx_parser *p = r->p;
    c->bits = p->token.bits;
    switch (p->token.kind) {
    case PTX_TOKEN_INTEGER: c->kind = PTX_CONSTANT_INTEGER; break;
    case PTX_TOKEN_FLOAT: c->kind = PTX_CONSTANT_FLOAT; break;
    case PTX_TOKEN_DOUBLE: c->kind = PTX_CONSTANT_DOUBLE; break;
    case PTX_TOKEN_NAME:
        if (p->token.length != 7 || memcmp(p->token.text, "WARP_SZ", 7) != 0)
            return ptx_expected(p, "a constant");
        *c = (struct ptx_constant){PTX_CONSTANT_INTEGER, WARP_SIZE};
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
    if (r->depth++ > PTX_MOST_DEPTH) {
        diag_error(p->diag, ptx_here(p), "this constant is nested too deeply");
        return false;
    }
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
        c->bits = !c->bits;
    else if (sign == '~')
        c->bits = ~c->bits;
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
enum { UNARY_LEVEL = 10 };

static bool is_operator(const struct ptx_parser *p, int level)
{
    if (p->token.kind != PTX_TOKEN_PUNCTUATION)
        return false;
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (operators[i].sign == p->token.punctuation && operators[i].level == level)
            return true;
    return false;
}

static bool divide(struct ptx_parser *p, struct loc where, int sign, uint64_t *a, uint64_t b)
{
    int64_t x = (int64_t)*a, y = (int64_t)b;
    if (y == 0) {
        diag_error(p->diag, where, "division by zero in a constant");
        return false;
    }
    if (y == -1) /* the least integer has no opposite */
        *a = sign == '/' ? -*a : 0;
    else
        *a = (uint64_t)(sign == '/' ? x / y : x % y);
    return true;
}

static uint64_t shift(int sign, uint64_t a, uint64_t b)
{
    if (sign == PTX_TWO('<', '<'))
        return b > 63 ? 0 : a << b;
    uint64_t fill = (int64_t)a < 0 ? ~UINT64_C(0) : 0;
    if (b > 63)
        return fill;
    return b ? a >> b | fill << (64 - b) : a;
}

static uint64_t apply(int sign, uint64_t a, uint64_t b)
{
    int64_t x = (int64_t)a, y = (int64_t)b;
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
    default: return shift(sign, a, b);
    }
}

static bool read_binary(struct reader *r, int level, struct ptx_constant *c)
{
    struct ptx_parser *p = r->p;
    if (level == UNARY_LEVEL)
        return read_unary(r, c);
    if (level == 0 && r->depth++ > PTX_MOST_DEPTH) {
        diag_error(p->diag, ptx_here(p), "this constant is nested too deeply");
        return false;
    }
    if (!read_binary(r, level + 1, c))
        return false;
    while (is_operator(p, level)) {
        struct loc where = ptx_here(p);
        int sign = p->token.punctuation;
        struct ptx_constant right;
        ptx_advance(p);
        if (!read_binary(r, level + 1, &right))
            return false;
        if (c->kind != PTX_CONSTANT_INTEGER || right.kind != PTX_CONSTANT_INTEGER) {
            diag_error(p->diag, where, "only integer constants can be calculated with");
            return false;
        }
        if (sign == '/' || sign == '%') {
            if (!divide(p, where, sign, &c->bits, right.bits))
                return false;
        } else {
            c->bits = apply(sign, c->bits, right.bits);
        }
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
