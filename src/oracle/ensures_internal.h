/* The oracle that evaluates `ensures`: values over whole views, each with a bound of its error. See
 * ensures.c for the model.
 *
 *   ensures.c         the statements, the comparison, the report
 *   ensures_eval.c    one expression: leaves, then by op
 *   ensures_rules.c   the effect of an op on one number and its error
 *   ensures_tile.c    memory, broadcasting, elementwise ops over threads
 *   ensures_view.c    the elements that an access of a view denotes
 *   ensures_shape.c   ops that move elements, reductions, scans
 *   ensures_dot.c     products of matrices, on routines_magnitude.c */
#ifndef TW_ENSURES_INTERNAL_H
#define TW_ENSURES_INTERNAL_H

#include "oracle/ensures.h"

/* One value: the ideal one, evaluated in double (integers and bool: in i, wrapped), and the
 * distance that a kernel's value may have from it. error 0: the value is exact; infinite: a
 * kernel may have any value. An uncertain bool has error 1. */
struct number {
    union {
        double v;
        int64_t i;
    };
    double error;
};

struct oracle_tile {
    enum dtype dtype;
    int rank; /* 0: a scalar */
    int64_t extent[MAX_RANK];
    int64_t count; /* elements */
    double *v;     /* floats; else NULL */
    int64_t *i;    /* integers, bool; else NULL */
    double *error; /* NULL: all exact */
};

/* A costly expression that occurs more than once in a statement (inlining replaces a fn's
 * parameter by its argument at each use). It is evaluated once for each setting of the `over`
 * indices. */
struct twin {
    const struct expr *e;
    int first;      /* index of the first equal expression; its own if it is the first */
    int count;      /* of the first: number of equal expressions */
    bool has_value; /* of the first: `value` is set */
    struct oracle_tile value;
};

/* A part of a statement that mentions none of its indices. It is evaluated once for all of them. */
struct fixed_part {
    const struct expr *e;
    bool has_value;
    struct oracle_tile value;
};
enum {
    MOST_FIXED = 16,
    MOST_FIXED_ELEMENTS = 1 << 20
}; /* most parts of a statement; most
                                                          * elements of a part's value */

/* The values of every statement for every setting of its `over` indices, in order. */
struct ensures_kept {
    struct arena *arena;
    const char *text; /* the statements that the values belong to; NULL: no values are kept yet */
    VEC(struct oracle_tile) tiles;
};

/* The shape that the context of an expression requires, for iota() and broadcast() over run-time
 * extents; NULL: none. */
struct hint {
    int rank;
    const int64_t *extent;
};

struct oracle {
    /* oracle_eval_expr, which the files below ensures_eval.c call for the expressions in an op */
    bool (*eval)(struct oracle *o, const struct expr *e, const struct hint *hint,
                 struct oracle_tile *out);
    struct arena *arena;
    struct ensures_kept *filling;       /* values are also kept here; NULL: they are not */
    const struct ensures_kept *instead; /* values are taken from here; NULL: they are evaluated */
    size_t used;                        /* number of tiles of `instead` used up to now */
    const struct kernel *kernel;
    const struct cpu_argument *args;
    struct scalar_env env;
    struct parallel parallel;
    struct ensures_report *report;
    const struct stmt *statement; /* the one being evaluated */
    const struct expr *root;      /* its value: the comparison judges overflow of this expression */
    int64_t over[MAX_RANK];       /* values of statement->over */
    struct twin *twins;
    int twin_count;
    struct fixed_part fixed[MOST_FIXED];
    int fixed_count;
    struct piece *pieces;                    /* memory to be used again */
    const struct ensures_listener *listener; /* NULL: there is none */
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
bool oracle_fail(struct oracle *o, const char *format, ...); /* returns false; keeps the first
                                                              * message */
/* Records that the next failure is of an index outside. */
void oracle_outside(struct oracle *o);

/* --- ensures_tile.c --- */

/* Returns a tile with undefined elements; it has an `error` array only if asked for. */
struct oracle_tile oracle_tile_new(struct oracle *o, enum dtype t, int rank, const int64_t *extent,
                                   bool with_error);
struct oracle_tile oracle_tile_scalar(struct oracle *o, enum dtype t, struct number x);
void oracle_tile_free(struct oracle *o, struct oracle_tile *x);
struct number oracle_tile_get(const struct oracle_tile *x, int64_t at);
void oracle_tile_put(struct oracle_tile *x, int64_t at, struct number n);
const char *oracle_tile_shape_text(struct oracle *o, const struct oracle_tile *x);
struct oracle_tile oracle_tile_copy(struct oracle *o, const struct oracle_tile *x);
void *oracle_memory(struct oracle *o, size_t bytes);
void oracle_memory_free(struct oracle *o, void *memory);

/* Computes the strides with which x is broadcast to a shape: elements from one to the next along
 * each axis, 0 where x is stretched. false: x does not fit the shape. */
bool oracle_tile_strides(const struct oracle_tile *x, int rank, const int64_t *extent,
                         int64_t *strides);

/* Calls body(user, begin, end) for pieces of 0 … count-1, on several threads if that pays.
 * `work`: the time of all pieces, in nanoseconds, roughly. */
void oracle_parallel(const struct oracle *o, int64_t count, double work,
                     void (*body)(void *user, int64_t begin, int64_t end), void *user);

static inline bool oracle_eval(struct oracle *o, const struct expr *e, const struct hint *hint,
                               struct oracle_tile *out)
{
    return o->eval(o, e, hint, out);
}
/* Evaluates an index or an extent. */
bool oracle_eval_int(struct oracle *o, const struct expr *e, int64_t *out);

struct rule;
/* Applies the op of `rule` to `count` operands, broadcast. Frees the operands. */
bool oracle_tile_elementwise(struct oracle *o, const struct rule *rule, struct oracle_tile *args,
                             int count, struct oracle_tile *out);

/* --- ensures_rules.c --- */

enum { RULE_OPERANDS = 3 };

struct rule {
    enum op op;
    enum dtype type;                /* of the result */
    enum dtype in[RULE_OPERANDS];   /* types that the operands are converted to; DT_NONE: no
                                   * conversion */
    enum dtype from[RULE_OPERANDS]; /* types of the operands */
    double unit,
        half_step; /* of the result's type: relative error of one rounding; half a subnormal step */
    double overflow; /* least magnitude that the result's type rounds to infinity */
    bool is_root;    /* overflow does not make the value uncertain */
    int count;       /* operands */
    bool converts;   /* some operands are converted */
};

/* The magnitudes from which the error bound of a sum is computed. */
struct magnitudes {
    double size; /* sum |x| */
    double runs; /* sum of |sum over the run|, over runs of SUM_RUN terms in a row */
    bool alike;  /* all |x| are the same: roundings repeat, and do not cancel */
};
enum { SUM_RUN = 512 };
/* Returns the error bound of a sum of `terms` terms, added in any order in a type of unit
 * roundoff `unit`. */
double oracle_sum_error(double terms, double unit, const struct magnitudes *m);
/* Returns whether in some order of adding a partial sum of v may overflow, so that the whole may
 * have any value. */
bool oracle_sum_may_overflow(double v, double size, double overflow);

double oracle_float_unit(enum dtype t);     /* unit roundoff, plus the oracle's own rounding */
double oracle_float_step(enum dtype t);     /* least positive value */
double oracle_float_overflow(enum dtype t); /* least magnitude that rounds to infinity */
/* Returns v as a saturating type (e4m3, e5m2) holds it: at most its largest finite value. */
double oracle_float_saturated(enum dtype t, double v); /* other types: v itself */

/* Returns the rule for the op with operands of types `from` and a result of type t. */
struct rule oracle_rule_for(enum op op, enum dtype t, const enum dtype *from, int count);
/* Returns whether exact operands give an exact result. */
bool oracle_rule_keeps_exact(const struct rule *r);
/* Applies the rule. false: there is no value (division by zero). */
bool oracle_rule_apply(const struct rule *r, const struct number *args, struct number *out);
struct number oracle_number_cast(enum dtype to, enum dtype from, struct number x);
double oracle_number_real(enum dtype t, struct number x); /* integers are converted, too */
bool oracle_number_below(enum dtype t, struct number a,
                         struct number b); /* a < b; errors are ignored */
enum truth { NO, YES, MAYBE } oracle_number_truth(enum dtype t, struct number x);

/* --- ensures_view.c --- */

/* An access of a view: an element, or a run of positions, for each axis of the view. */
struct ensures_axis {
    int out;                  /* axis of the result; -1: an element */
    int64_t start;            /* position of the element, or of the run's first element */
    const int64_t *positions; /* gather: one position for each element; else NULL */
    int64_t extent, stride;   /* of the view */
};
struct ensures_access {
    const struct sym *view;
    const char *data;
    enum dtype dtype;
    int axes; /* of the view */
    struct ensures_axis axis[MAX_RANK];
    int rank; /* of the result */
    int64_t extent[MAX_RANK];
    int gathers;
    struct oracle_tile gather[MAX_RANK]; /* the tiles that hold the positions; freed by
                                          * oracle_access_free */
};
bool oracle_view_elements(struct oracle *o, const struct sym *view, int64_t *out); /* computes the
                                                                             * number of elements */
bool oracle_access_resolve(struct oracle *o, const struct expr *e, struct ensures_access *out);
void oracle_access_free(struct oracle *o, struct ensures_access *x);
/* Computes the place in the view of element `index` of the result (row-major number). false: it
 * is beyond the view. */
bool oracle_access_place(const struct ensures_access *x, int64_t index, int64_t *at);
/* Loads all elements of the access; those beyond the view get `otherwise`. */
bool oracle_access_load(struct oracle *o, const struct ensures_access *x, struct number otherwise,
                        struct oracle_tile *out);

/* --- ensures_eval.c --- */

/* Evaluates an expression: oracle->eval. */
bool oracle_eval_expr(struct oracle *o, const struct expr *e, const struct hint *hint,
                      struct oracle_tile *out);
/* Finds the twins in an expression; forgets the values of earlier ones. */
void oracle_find_twins(struct oracle *o, const struct expr *e);
void oracle_forget_twins(struct oracle *o);
/* Finds the parts of the statement's value that do not depend on its indices; forgets the values
 * of earlier ones. */
void oracle_find_fixed(struct oracle *o);
void oracle_forget_fixed(struct oracle *o);

/* --- ensures_shape.c: each frees x --- */

bool oracle_tile_trans(struct oracle *o, struct oracle_tile *x, struct oracle_tile *out);
bool oracle_tile_reshape(struct oracle *o, const struct expr *e, struct oracle_tile *x,
                         struct oracle_tile *out);
bool oracle_tile_repeat(struct oracle *o, const struct expr *e, struct oracle_tile *x,
                        struct oracle_tile *out);
bool oracle_tile_broadcast(struct oracle *o, const struct expr *e, const struct hint *hint,
                           struct oracle_tile *x, struct oracle_tile *out);
bool oracle_tile_iota(struct oracle *o, const struct expr *e, const struct hint *hint,
                      struct oracle_tile *out);
bool oracle_tile_reduce(struct oracle *o, const struct expr *e, struct oracle_tile *x,
                        struct oracle_tile *out);
bool oracle_tile_scan(struct oracle *o, const struct expr *e, struct oracle_tile *x,
                      struct oracle_tile *out);

/* --- ensures_dot.c: frees a, b and c (NULL: none) --- */

bool oracle_tile_dot(struct oracle *o, const struct expr *e, struct oracle_tile *a,
                     struct oracle_tile *b, struct oracle_tile *c, struct oracle_tile *out);

#endif
