/* Small tile programs, and their errors, found by trying every interleaving of two threads and of
 * their asynchronous copies. It shares nothing with the check that it judges.
 *
 * A program is a list of nodes, printed as a kernel (random_programs.c) and unrolled here, for
 * every value of its inputs, into a trace of the steps of both threads, one step a statement.
 * Then all orders of the steps are walked. A program is wrong if in some order two conflicting
 * accesses of different statements' executions can happen at the same time, or if a copy has not
 * landed when it ends. */
#ifndef TW_TEST_ORACLE_H
#define TW_TEST_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_NODES = 56, MAX_TILES = 10, ROWS = 8, INPUTS = 5, STAGE_VARIABLES = 2, LOOPS = 3 };

/* Inputs of every program: two loop bounds, two flags, an index. */
enum input { IN_N0, IN_N1, IN_F0, IN_F1, IN_X };

enum index_form {
    AT_CONSTANT, /* c */
    AT_STAGE,    /* s */
    AT_STAGE_UP, /* (s + c) % S */
    AT_LOOP,     /* (p / step + c) % S */
    AT_INPUT     /* x, from 0 to 4 */
};
enum first_form {
    FIRST_CONSTANT, /* first */
    FIRST_LOOP,     /* p / step * rows % ROWS */
    FIRST_INPUT     /* x * 2 */
};
/* `rows` rows of one stage of a tile. */
struct part {
    int tile;
    enum index_form form;
    int variable; /* stage variable, or loop */
    int c;
    enum first_form first_form;
    int first, rows, first_loop;
    bool gathered; /* by a tile of row numbers, which count from 0 */
};

enum node_kind {
    NODE_READ,    /* from */
    NODE_WRITE,   /* to */
    NODE_MOVE,    /* to = from, one statement */
    NODE_ATOMIC,  /* adds to `to` */
    NODE_COPY,    /* async to */
    NODE_ELEMENT, /* a statement that reads the first element of `from`: enum element_form */
    NODE_COMMIT,
    NODE_WAIT, /* c groups stay */
    NODE_SYNC,
    NODE_STAGE, /* s = (s + c) % modulus */
    NODE_FOR,   /* loop `variable` up to input `input` (or the number c if input < 0) */
    NODE_IF,
    NODE_SCOPE, /* a block with a tile of its own, c */
    NODE_FREE,  /* of tile c, until the end */
    NODE_BREAK,
    NODE_CONTINUE,
    NODE_RETURN
};
enum { LOCAL_TILE = 2 }; /* the first tile of a scope */
enum test_form {
    TEST_NOT_ZERO,
    TEST_ONE,
    TEST_ABOVE_ONE,
    TEST_FIRST, /* p == 0 */
    TEST_MORE,  /* p + c * step < bound of its loop */
    TEST_SIZE,  /* an input for bounds > c * step */
    TEST_BOTH,  /* flag != 0 && p > 0 */
    TEST_FLAGS, /* f0 == f1 */
    TEST_ROUND, /* p / step % modulus == c */
    TEST_STAGE, /* stage variable == c */
    TEST_LATE   /* p >= c * step */
};
/* The expression that reads the element. The first ones write `to`. */
enum element_form {
    ELEMENT_SUM,
    ELEMENT_INDEX, /* of a view */
    ELEMENT_ELSE,
    ELEMENT_TERNARY, /* if flag f0 is not 0 */
    ELEMENT_CALL,    /* an argument of a fn */
    ELEMENT_STORE,   /* writes only the first element of `to` */
    ELEMENT_ADD,     /* as above, by an atomic */
    ELEMENT_COPY,    /* like INDEX, in an async copy */
    ELEMENT_PLACE,   /* an index of the written place, which is not a shared tile */
    ELEMENT_PRINT,
    ELEMENT_ATOMIC,
    ELEMENT_LOCK, /* a barrier follows */
    ELEMENT_FORMS
};
enum loop_form { LOOP_FOR, LOOP_WHILE, LOOP_DO };
struct node {
    enum node_kind kind;
    struct part from, to;
    int c, variable, modulus, input, stage;
    enum test_form test;
    int spelling; /* STAGE, SYNC: one of several; FOR: enum loop_form; ELEMENT: element_form */
    bool asks;    /* FOR: the condition also reads a row of `from` */
    int body, otherwise; /* first node, -1 none */
    int next;            /* -1 none */
    int line;            /* its line in the printed text */
    int condition_line;  /* FOR */
};

struct program {
    struct node node[MAX_NODES];
    int nodes, first;
    int tiles, stages[MAX_TILES], scopes;
    bool counts_up;   /* counters are unsigned */
    int step;         /* of every loop */
    bool loaded_flag; /* the second flag is loaded from memory */
    bool uses[INPUTS];
    int bound[LOOPS], constant[LOOPS]; /* input and constant of each loop's bound */
    /* The plan, by tile: its place, and true if a barrier was added before its declaration. */
    int64_t offset[MAX_TILES], bytes[MAX_TILES];
    bool barrier[MAX_TILES];
};

/* The errors found: pairs of lines, the lower first; for a copy that has not landed at the end,
 * 0 and its line. */
enum { MAX_PAIRS = 256 };
struct oracle_answer {
    bool wrong;
    bool too_large; /* some trace was too long to walk */
    int pairs, pair[MAX_PAIRS][2];
};
/* Finds the errors. Loops with an unknown bound run 0 … trips iterations. */
void oracle_ask(const struct program *p, int trips, struct oracle_answer *out);
/* Finds accesses of different tiles to the same bytes in the planned program. Notes the first
 * such pair. */
void oracle_ask_planned(const struct program *p, int trips, struct oracle_answer *out);
bool oracle_has_pair(const struct oracle_answer *a, int line, int other);

#endif
