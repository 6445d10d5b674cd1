/* Kernels that do one access of each kind of memory, by each family of instructions, at an address
 * that the launch chooses: what test_sim_bounds.c runs. */
#ifndef BOUNDS_KERNELS_H
#define BOUNDS_KERNELS_H

#include "base/text.h"

enum {
    BOUNDS_OBJECT = 2048,
    BOUNDS_HEAD = 32
}; /* bytes of what is accessed; of parameters before */

/* The source of the address. */
enum bounds_way {
    BOUNDS_REGISTER,
    BOUNDS_SHORT_REGISTER,
    BOUNDS_BOTH,
    BOUNDS_IMMEDIATE,
    BOUNDS_WAYS
};

/* A memory: its object of BOUNDS_OBJECT bytes lies at `origin` among `total` bytes that an access may
 * reach. */
struct bounds_space {
    const char *name;
    const char *suffix; /* of instructions; "": generic */
    const char *symbol; /* NULL: only by register */
    const char *base;   /* instruction that gives %base; NULL: only by symbol */
    unsigned set;       /* its bit */
    int64_t origin, total;
    bool read_only, narrow; /* addresses may have 32 bits */
    bool global;            /* addresses have the number of an allocation in the bits from 36 on */
};
extern const struct bounds_space bounds_spaces[];
extern const size_t bounds_space_count;

enum {
    BOUNDS_WRITES = 1,
    BOUNDS_WHOLE = 2,   /* the whole warp takes part, */
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

/* False: that memory has no such way, or not with that family. The kernel `k` takes the addresses of 32
 * offsets of 64 bits and of the object, and masks of the lanes that pass the guard and the branch. */
bool bounds_kernel(struct text *out, const struct bounds_space *s, const struct bounds_family *f,
                   enum bounds_way way, int64_t immediate);

#endif
