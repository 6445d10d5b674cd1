/* The parts of the verifier: thread_verify.c checks regions and roles, thread_verify_operation.c each operation by itself,
 * thread_verify_memory.c shared memory, thread_verify_use.c uses of values. */
#ifndef TW_THREAD_VERIFY_OWN_H
#define TW_THREAD_VERIFY_OWN_H

#include "thread/thread_facts.h"

/* Facts about a value. */
struct fate {
    bool taken;      /* by a product, or as a value in flight: it must not be used again */
    bool open;       /* in flight, and not committed */
    bool factors;    /* in flight, and its products read registers of factors */
    uint32_t loops;  /* loops around its definition */
    uint32_t commit; /* commits before it was committed, and this one */
};

struct checks {
    struct arena *arena;
    struct diag *diag;
    const struct thread_function *function;
    struct fate *fates;
    VEC(uint32_t) taken;                      /* numbers of values, in the order of the text */
    VEC(const struct thread_value *) flights; /* groups in flight that are defined here */
    size_t loop_flights;                      /* of them, before the innermost loop */
    uint32_t loops, roles;
    uint32_t commits;      /* that every run to this place has done */
    uint32_t exit_commits; /* the same for every run that leaves the innermost loop */
    const struct thread_operation *loop, *branch; /* innermost; the `if` whose region this is */
    struct loc where;                             /* of the present operation */
    bool ok;
};

static inline bool is_value(const struct thread_operand *o)
{
    return o->kind == THREAD_VALUE;
}

static inline struct fate *fate_of(const struct checks *c, const struct thread_value *v)
{
    return &c->fates[v->number];
}

/* --- thread_verify_use.c --- */

void thread_verify_fault(struct checks *c, struct loc at, const char *text);
/* Reports a fault of an operand of the present operation. */
void thread_verify_refuse(struct checks *c, const struct thread_operand *o, const char *text);
/* Uses a value; a product has not taken it. */
void thread_verify_use(struct checks *c, const struct thread_operand *o);
/* Checks that the value is not taken in each iteration of a loop around which it is defined. */
void thread_verify_iteration(struct checks *c, const struct thread_operand *o);
/* Uses a value for the last time. */
void thread_verify_take(struct checks *c, const struct thread_operand *o);

/* --- thread_verify_operation.c --- */

/* Returns whether the operand is a scalar of the type. */
bool thread_verify_is_scalar(const struct thread_operand *o, enum dtype t);
/* Returns whether the operand is a scalar or a group of the type; a constant only of a type other than bool. */
bool thread_verify_fits(const struct thread_operand *o, enum dtype t);
/* Checks an operation without regions: operands by the table, constants, lengths of groups, types. Returns false if its operands
 * are not those of the table. */
bool thread_verify_operation(struct checks *c, const struct thread_operation *op);
/* Checks that the operation's first operand is a predicate. */
bool thread_verify_condition(struct checks *c, const struct thread_operation *op);

/* --- thread_verify_memory.c --- */

/* Checks that the arrays are in the shared memory of a block and do not overlap. */
void thread_verify_objects(struct checks *c, const struct thread_function *f);
/* Refuses elements that certainly do not begin where the operation needs them to. */
void thread_verify_alignment(struct checks *c, const struct thread_function *f);

#endif
