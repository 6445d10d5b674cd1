/* Declarations that the files of the value graph (lower_value*.c) share. */
#ifndef TW_LOWER_VALUE_GRAPH_H
#define TW_LOWER_VALUE_GRAPH_H

#include "facts/facts.h"
#include "lower/lower_op.h"

enum value_kind {
    VALUE_LITERAL,
    VALUE_LEAF, /* a register, a special register, a loop's counter */
    VALUE_OP,   /* an op on other values */
    VALUE_SUM   /* a polynomial */
};

/* factor · atom[0] · atom[1] · … ; atoms are leaves and ops of any integer type, in order of
 * their id. */
enum { MOST_ATOMS = 4 };
struct monomial {
    int64_t factor;
    int count;
    const struct value *atom[MOST_ATOMS];
};

/* The sum of the terms and a constant, over the integers: a value of 32 bits is that modulo 2^32.
 * Terms are in one order (monomial_compare), none of factor 0, none twice. */
struct poly {
    struct monomial *terms;
    int count, capacity;
    int64_t constant;
};

struct value {
    enum value_kind kind;
    enum dtype dtype;
    uint32_t id;
    int level; /* depth of the innermost loop in which it varies; 0: in none */
    bool fleeting;
    bool exact; /* VALUE_SUM: of its type, even if that could not wrap */
    struct facts facts;
    uint32_t learned; /* values.learned when the facts were found */
    struct literal literal;
    /* VALUE_LEAF */
    struct ptx_operand reg; /* PTX_REGISTER, or PTX_SPECIAL: read when asked for */
    struct counter *counter;
    /* VALUE_OP */
    enum op op;
    int count;
    const struct value **args;
    /* VALUE_SUM */
    struct poly sum;
    /* Its present register. */
    bool placed;
    struct ptx_operand place;
    uint64_t hash;
    struct value *next; /* of the same bucket */
};

/* A loop's counter: see frame_counter. */
struct counter {
    struct counter *next;
    struct frame *frame; /* NULL: its loop has ended */
    struct value *now, *stepped;
    const struct value *start, *step;
    bool wraps;
};

/* A register that follows a sum which is linear in the counters of a loop. */
struct stream {
    struct stream *next;
    const struct value *key;
    const struct value *step;
    struct ptx_operand reg;
};

/* Values are good until the region in which they were emitted ends: a frame or a scope, counted
 * from 1 by how deep they are nested. */
struct region {
    VEC(struct value *) placed;
};

enum { FIRST_BUCKETS = 4096, SMALL_NUMBERS = 128, MOST_ANCHORS = 24 };
struct values {
    VEC(struct value *) all; /* by id */
    struct value **buckets;  /* by hash; at least as many as values, when one is made */
    size_t bucket_count;     /* a power of two */
    const struct value *small[2][SMALL_NUMBERS]; /* i32, i64: literals that were asked for */
    VEC(struct region) regions;
    size_t region;    /* the current one; 0: none */
    uint32_t learned; /* how often value_learn told something new */
    const struct value *specials[PTX_SPECIAL_COUNT];
    const struct value *lane, *warp;   /* NULL until asked for */
    VEC(const struct value *) anchors; /* addresses asked for, the last at the end */
};

static inline bool value_is_literal(const struct value *v)
{
    return v->kind == VALUE_LITERAL;
}
/* Integers of 32 and 64 bits are kept as polynomials. */
static inline bool value_sums(enum dtype t)
{
    return t == DT_I32 || t == DT_U32 || t == DT_I64 || t == DT_U64;
}
static inline bool value_is_multiple(const struct value *v, int64_t n)
{
    return facts_divisor(&v->facts) % n == 0;
}
static inline bool value_wide(enum dtype t)
{
    return dtype_table[t].bits == 64;
}
static inline int value_depth(const struct lower *l)
{
    return l->frame ? l->frame->depth : 0;
}

/* --- lower_value.c --- */

/* The value equal to *v, made if there is none: then level and facts are to be set. */
struct value *value_intern(struct lower *l, struct value *v, bool *made);
bool value_facts_stale(const struct lower *l, const struct value *v, bool made);
void value_set_facts(struct lower *l, struct value *v, struct facts f, bool made);
struct value *value_new_leaf(struct lower *l, enum dtype t, struct ptx_operand reg, int level);
/* op on args as it is, nothing folded. */
const struct value *value_of_op(struct lower *l, enum op op, enum dtype t,
                                const struct value *const *args, int count);

/* --- lower_value_poly.c --- */

struct poly poly_of(struct lower *l, const struct value *v);
void poly_add_term(struct lower *l, struct poly *p, struct monomial m);
/* *p += factor * q */
void poly_add(struct lower *l, struct poly *p, const struct poly *q, int64_t factor);
/* false: too many atoms in a term, or too many terms. */
bool poly_mul(struct lower *l, const struct poly *p, const struct poly *q, struct poly *out);
/* Makes m without its atom `at`. */
struct monomial monomial_without(const struct monomial *m, int at);
int monomial_level(const struct monomial *m);
int monomial_find(const struct monomial *m, const struct value *atom); /* -1: not there */
const struct value *value_of_poly(struct lower *l, enum dtype t, const struct poly *p);
/* The terms of p that are multiples of n (a constant too), and the rest. */
void poly_split_multiples(struct lower *l, const struct poly *p, int64_t n, struct poly *multiples,
                          struct poly *rest);
/* The terms that vary in a loop of that depth or further in, and the rest with the constant. */
void poly_split_level(struct lower *l, const struct poly *p, int level, struct poly *inner,
                      struct poly *outer);
/* Does each atom have at most 32 bits? */
bool poly_narrow(const struct poly *p);

/* --- lower_value_facts.c --- */

struct facts facts_of_type(enum dtype t);
/* Facts of the polynomial over the integers. */
struct facts facts_of_poly(const struct poly *p);
struct facts facts_of_op(enum op op, enum dtype t, const struct value *const *args, int count);
/* Most blocks that the grid can have along an axis. */
int64_t facts_grid(const struct lower *l, int axis);

/* --- lower_value_compare.c --- */

const struct value *value_compare(struct lower *l, enum op op, const struct value *a,
                                  const struct value *b);

/* --- lower_value_emit.c --- */

/* Emission goes to where a value of this level belongs, and comes back. */
struct detour {
    bool made;
    struct frame *frame;
    struct ptx_code *code;
    size_t region;
};
struct detour detour_to(struct lower *l, int level);
void detour_end(struct lower *l, const struct detour *d);
void value_place(struct lower *l, const struct value *v, struct ptx_operand at);
/* Forgets what was emitted in this region and those within it. */
void values_forget(struct lower *l, size_t region);

/* --- lower_value_sum.c --- */

struct ptx_operand sum_emit(struct lower *l, const struct value *v);
/* start + p, without p's constant; start NULL: 0. */
struct ptx_operand sum_chain(struct lower *l, enum dtype t, const struct ptx_operand *start,
                             const struct poly *p);
/* start + (value of step), in `to`, with as few instructions as can be. */
void sum_step(struct lower *l, enum dtype t, struct ptx_operand to, struct ptx_operand start,
              const struct value *step);
/* start + constant, in a new register. */
struct ptx_operand sum_plus(struct lower *l, enum dtype t, struct ptx_operand start,
                            int64_t constant);
/* Can x + d be had from x with one instruction that has d's factor in it? */
bool sum_is_near(const struct value *d);

/* --- lower_value_frame.c --- */

/* p = followed + rest, where a register can follow `followed` through the innermost loop. */
void frame_split(struct lower *l, const struct poly *p, struct poly *followed, struct poly *rest);
/* Register that has this sum, all of it (a constant aside) followed by the innermost loop. */
struct ptx_operand frame_stream(struct lower *l, const struct value *v);
/* Is a counter in it that may wrap, which a register of 64 bits would not do with it? */
bool frame_wraps(const struct lower *l, const struct poly *followed);
/* Is what the counters bring to p more than one instruction's work? */
bool frame_worth_stream(const struct lower *l, const struct poly *followed);

/* --- lower_value_address.c --- */

/* A register with this sum (no constant), as an address. */
struct ptx_operand address_register(struct lower *l, const struct value *v);

#endif
