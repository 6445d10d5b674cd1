/* Rows that an executor may compute together with their sum, as the pass `rows` finds them. */
#ifndef TW_ROWS_H
#define TW_ROWS_H

enum row_rule {
    ROW_POWERS,     /* v = exp(x - one), and sum(v) */
    ROW_DIFFERENCE, /* v = x - one, and sum(v * v) */
    ROW_QUOTIENTS   /* a store of v / one, where v = exp(…) has the mark ROW_POWERS */
};

struct expr;

/* The mark of a declaration or an assignment. x and v are register tiles of one row, `one` is a
 * scalar, all of f32. v does not change between the marked statement and the one that has the sum,
 * and between the powers and their quotients no other statement has the mark ROW_POWERS. */
struct row_mark {
    enum row_rule rule;
    const struct expr *sum; /* in a later statement of the same list; ROW_QUOTIENTS: NULL */
};

#endif
