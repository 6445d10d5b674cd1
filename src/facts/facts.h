/* Facts about integers: limits, a congruence, and the bits that may be 1.
 *
 * A value of a program is kept in 64 bits as executors keep it: extended by its sign or by zeros, and a u64 as the
 * i64 of the same bits. Facts are about that number. A u64 whose facts allow negative numbers may be 2^63 or more.
 *
 * A rule first computes over the integers, without an end. The result is a fact of the type only if it certainly
 * fits; otherwise the operation may wrap, and of the congruence a power of two is left. This holds for 64 bits, too.
 *
 * Every rule is compared with src/tile/eval.c by enumeration (tests/unit/test_facts.c). */
#ifndef TW_FACTS_H
#define TW_FACTS_H

#include "base/dtype.h"

struct facts {
    int64_t least, greatest; /* INT64_MIN, INT64_MAX: no limit */
    int64_t modulus,
        rest; /* the value is rest + modulus · i, 0 <= rest < modulus; modulus 0: it is rest */
    uint64_t ones; /* bits that may be 1, of 64 */
};

enum { FACTS_MOST_MODULUS_LOG = 62 };

/* A type of `bits` bits, 1 to 64; bool is a type without a sign, of 1 bit. */
struct facts_type {
    uint8_t bits;
    bool is_signed;
};

enum facts_op {
#define FACTS_OP(name, operands, rule) FACTS_##name,
#include "facts/facts_ops.def"
#undef FACTS_OP
    FACTS_OPS
};

static inline bool facts_no_limit(int64_t limit)
{
    return limit == INT64_MIN || limit == INT64_MAX;
}

/* --- making them --- */

struct facts_type facts_type_of(enum dtype t);
/* Returns what holds for every value of the type. */
struct facts facts_any(struct facts_type t);
struct facts facts_exactly(int64_t v);
struct facts facts_between(int64_t least, int64_t greatest);
/* Returns the facts of a multiple of n, n >= 0. */
struct facts facts_multiple(int64_t n);

/* --- asking --- */

bool facts_contain(const struct facts *f, int64_t v);
/* Returns whether the value is known; *v is then the value. */
bool facts_known(const struct facts *f, int64_t *v);
/* Returns the greatest known divisor of the value; 0: it is 0. */
int64_t facts_divisor(const struct facts *f);
/* Returns whether every number that the facts allow is a value of the type. */
bool facts_fit(const struct facts *f, struct facts_type t);
bool facts_same(const struct facts *a, const struct facts *b);
/* Returns whether two numbers with these facts certainly differ. */
bool facts_apart(const struct facts *a, const struct facts *b);

/* --- combining --- */

/* Returns what holds if the value is that of a or that of b. */
struct facts facts_join(const struct facts *a, const struct facts *b);
/* Returns what holds if both hold; a if they contradict each other, since such a place is never reached. */
struct facts facts_meet(const struct facts *a, const struct facts *b);
/* Returns the join, with the type's limits instead of those that moved: a loop reaches an end by it. */
struct facts facts_widen(const struct facts *before, const struct facts *now, struct facts_type t);

/* --- over the integers --- */

struct facts facts_sum(const struct facts *a, const struct facts *b);
struct facts facts_product(const struct facts *a, const struct facts *b);
/* Returns the facts of a number wrapped to the type. *exact: it certainly fits, so nothing is cut off. */
struct facts facts_wrap(const struct facts *f, struct facts_type t, bool *exact);

/* --- operations of programs --- */

/* Returns the facts of the result. The operands have the type t, other than the amount of a shift and the condition
 * of SELECT. */
struct facts facts_of(enum facts_op op, struct facts_type t, const struct facts *x);
/* Returns the facts of a value converted to t; bool: of whether it is not 0. */
struct facts facts_cast(const struct facts *f, struct facts_type t);
/* Returns the facts of a where `a op b` is true; op is a comparison. */
struct facts facts_where(enum facts_op op, struct facts_type t, const struct facts *a,
                         const struct facts *b);
/* Returns the comparison that is true if op is false; with its sides exchanged. */
enum facts_op facts_negated(enum facts_op comparison);
enum facts_op facts_exchanged(enum facts_op comparison);

/* Returns the number of operands of the operation. */
int facts_operands(enum facts_op op);

#endif
