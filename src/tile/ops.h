/* The table of tile ops (ops.def) as an enum and rows. */
#ifndef TW_OPS_H
#define TW_OPS_H

#include <stdbool.h>

enum op {
#define OP(id, text, form, arity, class, flags) OP_##id,
#include "tile/ops.def"
#undef OP
    OP_COUNT
};

enum op_form { FORM_LEAF, FORM_PREFIX, FORM_INFIX, FORM_CALL, FORM_OTHER };
enum op_class {
    CLASS_ARITH,
    CLASS_COMPARE,
    CLASS_LOGIC,
    CLASS_FLOAT,
    CLASS_BITWISE,
    CLASS_REDUCE,
    CLASS_SHAPE,
    CLASS_OWN,
    CLASS_EFFECT
};
enum op_flags { OP_PURE = 1, OP_SYNC_FLAG = 2, OP_MEMORY = 4, OP_LAZY = 8, OP_APPROX = 16 };

struct op_info {
    const char *id;   /* "ADD" */
    const char *text; /* "+" */
    enum op_form form;
    int arity;
    enum op_class class;
    int flags;
};
extern const struct op_info op_table[OP_COUNT];

/* Returns true for ops that change memory and give the old value: args[0] is the memory. */
static inline bool op_is_atomic(enum op op)
{
    return op >= OP_ATOMIC_ADD && op <= OP_ARRIVE;
}
/* Returns true for the atomics that, at thread level, each thread does for itself. */
static inline bool op_is_atomic_of_thread(enum op op)
{
    return op_is_atomic(op) && op != OP_ARRIVE;
}
/* Returns true for ops that reduce a tile along an axis, or along all. */
static inline bool op_is_reduction(enum op op)
{
    return op_table[op].class == CLASS_REDUCE;
}
/* Returns true for ops that divide; with integers a divisor of 0 is a fault. */
static inline bool op_divides(enum op op)
{
    return op == OP_DIV || op == OP_REM || op == OP_CDIV;
}
/* Returns true for the classes ARITH, COMPARE, LOGIC, FLOAT and BITWISE. */
bool op_is_elementwise(enum op op);
/* Returns true if each element of the result comes from that element of each operand: of elementwise ops,
 * CAST, BITS, WHERE, PHILOX and LOOKUP. */
bool op_keeps_place(enum op op);
/* Returns the precedence of an infix op as in C, from 1 (||) to 10 (* / %); 0 for other ops. */
int op_precedence(enum op op);
/* Returns the op that is written `text` in that form with `arity` operands (-1: any number);
 * OP_COUNT: none. REDUCE_MAX and MAX share a text; their arity differs. */
enum op op_by_text(const char *text, enum op_form form, int arity);

/* Numbers that a launch asks its device for. In a kernel, each is the default of a parameter that the
 * program names as the device's: `device.sms`. */
enum device_number {
    DEVICE_NONE,
    DEVICE_SMS,     /* multiprocessors; the threads of the CPU engine */
    DEVICE_CLUSTERS /* clusters that run at the same time */
};
/* Returns "device.sms", …; NULL: DEVICE_NONE. */
const char *op_device_number_text(enum device_number n);

#endif
