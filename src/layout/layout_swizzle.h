/* The shared layout of a tile, chosen so that the accesses the program makes of it cost least. */
#ifndef TW_LAYOUT_SWIZZLE_H
#define TW_LAYOUT_SWIZZLE_H

#include "layout/layout_access.h"

enum { SHARED_ACCESSES = 8 };

/* One way in which the tile is written or read. */
struct shared_access {
    const struct layout *regs; /* who moves what: reg, lane, warp -> coordinates of the tile */
    unsigned kinds;            /* allowed: 1 << ACCESS_… */
    int most;                  /* bytes a lane at most; 16 for all but special reasons */
    int needed; /* bytes a lane at least: 4, 8 or 16 for asynchronous copies; else 0 */
    int weight; /* how often, beside the other accesses */
    /* Elements that are neighbours along this axis (counted from 1) are not to be had in one
     * vector: they are wanted one after the other; 0: none such. */
    int apart;
};

struct shared_wish {
    int32_t extents[6];
    int rank;
    int bits; /* of an element */
    int count;
    struct shared_access access[SHARED_ACCESSES];
    bool may_pad;       /* rows may be longer than their elements */
    bool no_xor;        /* no swizzles: places are sums, whatever is added to a coordinate */
    bool may_be_linear; /* any bijection over GF(2) will do, whatever its addresses look like: for
                           scratch tiles */
};

enum shared_form {
    SHARED_PLAIN,
    SHARED_SWIZZLED,
    SHARED_PADDED,
    SHARED_PANELS,
    SHARED_PANELS_SWIZZLED,
    SHARED_LINEAR, /* any bijection over GF(2) */
    SHARED_FORMS
};
extern const char *const shared_form_names[SHARED_FORMS];

struct shared_choice {
    struct layout layout; /* d0, d1, … -> at */
    enum shared_form form;
    struct access access[SHARED_ACCESSES]; /* how each access is then made, and its wavefronts */
    int64_t bytes;
    int64_t cost; /* see layout_swizzle.c; INT64_MAX: no layout has the needed vectors */
};

/* The best layout found. False where no layout meets an access's needs. */
bool layout_choose_shared(const struct shared_wish *wish, struct shared_choice *out);
/* The same where access 0 is a copy from global memory that may be dealt to the threads in any
 * coalesced way: `vector` elements a lane, `warps` warps; *copy is the best (its regs in `wish` are
 * not looked at). */
bool layout_choose_with_copy(const struct shared_wish *wish, int vector, int warps,
                             struct layout *copy, struct shared_choice *out);
/* What a given layout costs. False where it does not meet an access's needs. */
bool layout_rate_shared(const struct shared_wish *wish, const struct layout *layout,
                        struct shared_choice *out);

/* For layout_swizzle.c: the layout that the linear method gives (layout_complement.c), trusting the
 * vectors of access `leader` (-1: only those that all accesses have). False where extents or
 * accesses are not linear. */
bool layout_from_complement(const struct shared_wish *wish, int leader, struct layout *out);

#endif
