/* The printer's expressions, for its statements. */
#ifndef TW_TILE_PRINT_OWN_H
#define TW_TILE_PRINT_OWN_H

#include "tile/tile.h"

/* Precedences in addition to 1 to 10 of op_precedence(). A greater one binds tighter. */
enum { PREC_ANY = 0, PREC_SELECT = 0, PREC_LOR = 1, PREC_UNARY = 11, PREC_PRIMARY = 12 };

/* Values of `want` other than a type. WANT_DEFAULT: no operand gives a type, so the default type
 * applies. WANT_INTEGER: any integer type will do. WANT_CAST: the literal needs a cast, because
 * the checker would compute literals among themselves. */
enum { WANT_DEFAULT = DT_NONE, WANT_INTEGER = -2, WANT_CAST = -3 };

struct text;

/* Prints e in parentheses if it binds less tightly than `prec`. */
void print_expr(struct text *t, const struct expr *e, int prec, int want);
/* Prints an expression whose type the checker finds without its context, unless it is a literal. */
void print_settled(struct text *t, const struct expr *e, int prec, int want);
/* Returns `want` for operand i of e, given that of e. The checker passes a type on through signs
 * and choices to the literals of a choice, but through no other op. */
int print_operand_want(const struct expr *e, int i, int want);

#endif
