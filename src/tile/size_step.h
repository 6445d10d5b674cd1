/* The sizes of a launch as a program over the values of its parameters: the grid, the extents,
 * strides and offsets of views, bytes of workspace, derived parameters, assumptions.
 *
 * A program is a list of steps on a stack of numbers. It consists of *roots*, one for each size:
 * steps that leave one number, and a step that takes it (SIZE_GRID and those after it). Arithmetic
 * is in the kernel's own types, and a number that leaves its type is a fault.
 *
 * This text and size_run.h are all of the evaluator: the library compiles them (size_run.c), and
 * every NAME.c that `tilewright build` writes has a copy. So they need nothing but C99.
 * launch_sizes.c makes the programs. */
#ifndef TW_SIZE_STEP_H
#define TW_SIZE_STEP_H

#include <stddef.h>
#include <stdint.h>

/* Types of numbers. A u64 is kept as the int64_t with the same bits, a float as those of a double. */
enum size_type {
    SIZE_I64,
    SIZE_I32,
    SIZE_I16,
    SIZE_I8,
    SIZE_U32,
    SIZE_U16,
    SIZE_U8,
    SIZE_BOOL,
    SIZE_U64
};

enum size_op {
    SIZE_PARAM,  /* push parameter `index` */
    SIZE_NUMBER, /* push `value` */
    SIZE_ADD,    /* from here to SIZE_NE: take two numbers of the type, push one */
    SIZE_SUB,
    SIZE_MUL,
    SIZE_DIV,
    SIZE_REM,
    SIZE_CDIV, /* quotient, rounded up */
    SIZE_LESSER,
    SIZE_GREATER,
    SIZE_SHL,
    SIZE_SHR,
    SIZE_AND,
    SIZE_OR,
    SIZE_XOR,
    SIZE_LT,
    SIZE_GT,
    SIZE_LE,
    SIZE_GE,
    SIZE_EQ,
    SIZE_NE,
    SIZE_FIT,       /* the number has to fit the type; `index`: the type that it has */
    SIZE_POW2_CEIL, /* the least power of two that is not less */
    SIZE_TRUTH,     /* 1 if the number is not 0 */
    SIZE_COPY,      /* push the top again */
    SIZE_SWAP,      /* exchange the two numbers at the top */
    SIZE_SKIP,      /* leave out the next `index` steps */
    SIZE_UNLESS,    /* pop a number; if it is 0, leave out the next `index` steps */
    SIZE_AND_THEN,  /* if the top is 0, leave out the next `index` steps; else pop it */
    SIZE_OR_ELSE,   /* if the top is not 0, leave out the next `index` steps; else pop it */
    SIZE_LOOKUP,    /* pop i and push the value of step i of the next `index`; leave these out */
    SIZE_OTHER,     /* take `index` numbers, push the result of the caller's own operation */
    SIZE_GRID,      /* blocks along axis `index`: at most `value` */
    SIZE_EXTENT,    /* result `index`, which is not negative */
    SIZE_RESULT,    /* result `index`, a number of the type */
    SIZE_BIT,       /* sets bit `value` of result `index` if the number is not 0 */
    SIZE_ASSUME,    /* the number is not 0 */
    SIZE_AXIS       /* takes nothing: parameter `index` is not negative */
};

enum {
    SIZE_DEPTH = 64,           /* the most numbers on the stack */
    SIZE_NO_RESULT = INT32_MAX /* index of a result that no run stores */
};

struct size_step {
    uint8_t op, type;
    uint16_t detail; /* of the caller's own operation */
    int32_t index;
    int64_t value;
};

enum size_error {
    SIZE_FITS,      /* none */
    SIZE_OVERFLOWS, /* a number does not fit its type */
    SIZE_BY_ZERO,   /* a division by zero */
    SIZE_UNKNOWN,   /* a place outside a table, or the caller's own operation has no value */
    SIZE_NEGATIVE,  /* an extent */
    SIZE_TOO_MANY,  /* blocks */
    SIZE_UNMET      /* an assumption */
};

struct size_fault {
    enum size_error error;
    const struct size_step *step;
    int64_t a, b; /* the operands; of the last step of a root, its value */
};

/* The caller's own operation. Returns 0 if it has no value. */
typedef int size_other(const struct size_step *step, const int64_t *operands, int64_t *result);

#endif
