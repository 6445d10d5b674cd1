/* Shared declarations of the two halves of the generator: fuzz_expr.c writes expressions,
 * fuzz_generate.c statements and modules. */
#ifndef TW_FUZZ_GEN_H
#define TW_FUZZ_GEN_H

#include "fuzz.h"

#include "base/dtype.h"

enum { MAX_VARS = 40, MAX_CONSTS = 5, MAX_AXES = 3, INDENT = 4 };

enum storage_kind { V_SCALAR, V_REG, V_SHARED, V_VIEW, V_ARRAY };
enum value_class { C_INT, C_FLOAT, C_BOOL };

struct shape {
    int rank;
    int extent[MAX_AXES];
};

struct var {
    char name[12];
    enum storage_kind storage;
    enum dtype dtype;   /* DT_NONE: the type variable T, a float */
    struct shape shape; /* views: their approximate extents */
    bool writable, varying, live;
};

struct constant {
    char name[8];
    int value;
};

struct gen {
    struct rng *r;
    struct text *out;
    struct var vars[MAX_VARS];
    int var_count, names, indent;
    struct constant consts[MAX_CONSTS];
    int const_count;
    bool threads, type_variable, has_fn, has_pair;
    int block[2];       /* threads(…) */
    int varying, loops; /* depth of nested constructs of these kinds */
    bool pipelined;
    int slips; /* in a thousand */
};

extern const struct shape scalar_shape;

bool gen_chance(struct gen *g, int percent);
int gen_below(struct gen *g, int n);
bool gen_slip(struct gen *g); /* true now and then: for an error on purpose */
void gen_put(struct gen *g, const char *s);
#define gen_printf(g, ...) text_printf((g)->out, __VA_ARGS__)

enum value_class gen_class_of(enum dtype t);
const char *gen_type_name(enum dtype t);
enum dtype gen_some_type(struct gen *g, enum value_class c);
enum value_class gen_some_class(struct gen *g);
int gen_some_extent(struct gen *g);
struct shape gen_some_shape(struct gen *g);
void gen_put_extent(struct gen *g, int n); /* the number, or a constant of that value */
void gen_put_extents(struct gen *g, const struct shape *s);

struct var *gen_add_var(struct gen *g, enum storage_kind storage, enum dtype t, struct shape s);
/* Returns a variable of that storage with the shape `fits` (exact), or one that can be broadcast
 * to it; NULL: any shape. NULL if there is none. */
struct var *gen_pick(struct gen *g, enum storage_kind storage, const struct shape *fits,
                     bool exact);

/* Writes an expression of class c and shape s. */
void gen_expr(struct gen *g, enum value_class c, const struct shape *s, int depth);
void gen_value(struct gen *g, enum dtype t, const struct shape *s); /* the same, cast to type t */
void gen_huge_int(struct gen *g); /* a constant near an end of its range */
/* Writes a scalar integer that is usually small: for indices. limit > 0: usually below it. */
void gen_small_int(struct gen *g, int limit, int depth);
/* Writes indices of v that leave a tile of shape s: elements of the leading axes, slices of the
 * last. */
void gen_put_indices(struct gen *g, const struct var *v, const struct shape *s);

#endif
