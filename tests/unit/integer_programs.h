/* Programs of integer expressions. Each is written as text, compiled, and run on the CPU engine
 * and on the simulator; eval_op evaluates it here, element by element, for comparison. */
#ifndef INTEGER_PROGRAMS_H
#define INTEGER_PROGRAMS_H

#include "tile/tile.h"
#include "tilewright.h"

#include <stdint.h>

/* At thread level a scalar of each thread; at tile level a scalar of the block, or an element of
 * a tile. */
enum program_mode { MODE_THREAD, MODE_UNIFORM, MODE_TILE, MODE_COUNT };

enum term_kind {
    TERM_LITERAL,
    TERM_A, /* read from memory, in the program's types a and b */
    TERM_B,
    TERM_P,     /* i32, known when the kernel is launched */
    TERM_Q,     /* i64, the same */
    TERM_S,     /* i32, compiled in */
    TERM_INDEX, /* i32: the element's index, whose range the compiler knows */
    TERM_COUNTER,
    TERM_OP
};

struct term {
    enum term_kind kind;
    enum dtype type;
    int64_t number; /* TERM_LITERAL */
    enum op op;     /* TERM_OP */
    int count;
    const struct term *args[3];
};

/* for (TYPE c = start; c `compare` end; c += step) { if (trips == most) break; … }; the element
 * is the final value of acc = acc * 3 + value. */
struct term_loop {
    enum dtype type;
    const struct term *start, *end, *step;
    enum op compare;
    bool down;  /* c -= step */
    int most;   /* 0: no break */
    int unroll; /* 0: no word; -1: `unroll for`; n: unroll(n) */
};

struct program_item {
    const struct term *value;
    const struct term_loop *loop; /* NULL: none */
};

enum { PROGRAM_ITEMS = 48, PROGRAM_VALUES = 65536, PROGRAM_TILE = 32 };

struct integer_program {
    enum program_mode mode;
    enum dtype a, b;
    int64_t p, q, s;
    int n; /* elements; of MODE_TILE a multiple of PROGRAM_TILE */
    const int64_t *x, *y;
    int count;
    struct program_item items[PROGRAM_ITEMS];
};

struct program_runner {
    tw_context *ctx;
    struct arena *arena;
    int64_t *cpu, *sim;
    int64_t elements, programs, wrong;
};

/* Returns the item's value for element i, as the language defines it. */
int64_t program_expected(const struct integer_program *p, const struct program_item *item, int i);
/* Runs the program, and prints the first elements that differ, with the expression. */
void program_run(struct program_runner *r, const struct integer_program *p);

#endif
