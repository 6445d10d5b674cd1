/* Kernels that make one access to each kind of memory, with each family of instructions, at an
 * address that the launch chooses. test_sim_bounds.c runs them. */
#ifndef BOUNDS_KERNELS_H
#define BOUNDS_KERNELS_H

#include "base/text.h"

enum {
    BOUNDS_OBJECT = 2048,
    BOUNDS_HEAD = 32
}; /* bytes of the object; bytes of the parameters before it */

/* The source of the address. */
enum bounds_way {
    BOUNDS_REGISTER,
    BOUNDS_SHORT_REGISTER,
    BOUNDS_BOTH,
    BOUNDS_IMMEDIATE,
    BOUNDS_WAYS
};

/* A memory: its object of BOUNDS_OBJECT bytes is at `origin` among the `total` bytes that an
 * access may reach. */
struct bounds_space {
    const char *name;
    const char *suffix; /* suffix of instructions; "": generic */
    const char *symbol; /* NULL: by register only */
    const char *base;   /* instruction that computes %base; NULL: by symbol only */
    unsigned set;       /* its bit */
    int64_t origin, total;
    bool read_only, narrow; /* addresses may have 32 bits */
    bool global;            /* bits from 36 on hold the number of the allocation */
};
extern const struct bounds_space bounds_spaces[];
extern const size_t bounds_space_count;

enum {
    BOUNDS_WRITES = 1,
    BOUNDS_WHOLE = 2,   /* the whole warp executes it, */
    BOUNDS_UNIFORM = 4, /* with one address */
    BOUNDS_NO_ACCESS = 8
};
struct bounds_family {
    const char *text; /* %S: suffix of the space; %A: the address; %R: its register */
    int bytes, alignment;
    unsigned flags, spaces;
    uint32_t lanes; /* whose addresses count */
};
extern const struct bounds_family bounds_families[];
extern const size_t bounds_family_count;

/* Writes the kernel `k`. Returns false if that memory cannot be accessed that way, or not with
 * that family. The kernel takes the addresses of 32 offsets of 64 bits and of the object, and
 * masks of the lanes that pass the guard and the branch. */
bool bounds_kernel(struct text *out, const struct bounds_space *s, const struct bounds_family *f,
                   enum bounds_way way, int64_t immediate);

#endif
