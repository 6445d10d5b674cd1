/* Declarations that lower.c, lower_stmt.c, lower_loop.c and lower_scalar.c share: variables, loops, lazy
 * evaluation. */
#ifndef TW_LOWER_FLOW_H
#define TW_LOWER_FLOW_H

#include "lower/lower_body.h"
#include "nvptx/nvptx_print.h"

/* A scalar of the program. One that is assigned after its declaration has a register for good,
 * which is always up to date, except where a loop's code is repeated with the variable a constant
 * (`bound`). */
struct variable {
    const struct sym *sym;
    bool assigned, has_register;
    struct ptx_operand reg;
    const struct value *value; /* now; NULL: none yet */
    bool limited;              /* whatever it is assigned lies within: */
    int64_t least, greatest;
};

struct variable_set {
    VEC(struct variable *) list;
};

/* The targets of break and continue. A label is made when the first branch needs it. */
struct loop_target {
    struct loop_target *outer;
    struct ptx_label **exit, *next;
};

struct bodies {
    struct pointer_map variables; /* sym -> struct variable */
    struct pointer_map fixed;     /* sym -> struct value: parameters, workspace */
    const struct value *block[3]; /* drawn by ticket; NULL: as launched */
    struct loop_target *loop;
    int depth;      /* loops and conditions around what is being emitted */
    int64_t copies; /* bodies written out by `unroll`, of all loops together */
    /* loads and assignments are for threads where this holds; NULL: all */
    const struct value *lazy;
    struct pointer_map assigned; /* sym -> sym: assigned besides its declaration */
    struct nvptx_printer printer;
    /* lines of the source */
    const struct source *source;
    struct line_starts lines;
    uint32_t file;
};

/* --- lower_stmt.c --- */

/* Besides its declaration. */
bool is_assigned(const struct lower *l, const struct sym *s);
struct variable *variable_of(struct lower *l, const struct sym *s);
/* The value of an assigned variable from here on: what its register holds. */
void variable_refresh(struct lower *l, struct variable *v);
/* The scalars declared so far that statements of the list assign. */
void variables_assigned(struct lower *l, const struct stmt *first, struct variable_set *set);
void variables_refresh(struct lower *l, const struct variable_set *set);

/* Branches where the condition holds. *to: NULL until a branch is emitted, then a label of that
 * name. */
void branch_on(struct lower *l, const struct value *condition, bool uniform, struct ptx_label **to,
               const char *name);
void branch_always(struct lower *l, struct ptx_label **to, const char *name);
/* Places a label that somebody goes to. */
void place_label(struct lower *l, struct ptx_label *label);

void statement_emit(struct lower *l, const struct stmt *s);

/* Reads memory, or has effects. */
bool expr_is_pure(const struct expr *e);
/* Notes the facts that assume(e) states about values. */
void assume_learn(struct lower *l, const struct expr *e);

/* Assigned tiles get values of their own type and shape: casts and broadcasts that were understood
 * are written. */
void normalise_assignments(struct lower *l);

/* --- lower_when.c --- */

/* An `if` whose arms are a few light assignments: emitted without branches. False: it is not such a
 * one. */
bool emit_if_when(struct lower *l, const struct stmt *s, const struct value *condition);
/* An assignment where bodies->lazy holds. */
void variable_assign_when(struct lower *l, struct variable *v, const struct expr *value);

/* --- lower_scalar.c --- */

/* Lives in a thread's own registers: made of its arrays, or different in each thread. */
const struct value *scalar_cast(struct lower *l, const struct value *v, enum dtype t);
/* The elementwise op of e on values of its operands' types: of one element. */
const struct value *scalar_apply(struct lower *l, const struct expr *e,
                                 const struct value *const *operands);
/* Evaluates a condition: scalar_eval as bool. */
const struct value *scalar_truth(struct lower *l, const struct expr *e);
int scalar_cost(const struct expr *e);

/* --- lower_held.c --- */

/* Fills out->held, before the registers are numbered anew. */
void note_held(struct lower *l);

/* --- lower_loop.c --- */

void loop_emit(struct lower *l, const struct stmt *s); /* FOR and WHILE */

#endif
