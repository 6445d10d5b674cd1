/* Chooses the shared layout of a tile so that the program's accesses to it cost least. */
#ifndef TW_LAYOUT_SWIZZLE_H
#define TW_LAYOUT_SWIZZLE_H

#include "layout/layout_access.h"

enum { SHARED_ACCESSES = 8 };

/* One way in which the tile is written or read. */
struct shared_access {
    const struct layout *regs; /* the elements that each (reg, lane, warp) moves, as coordinates
                                * of the tile */
    unsigned kinds;            /* allowed: 1 << ACCESS_… */
    int most;                  /* the most bytes of a lane's access; 16 except for special
                                * reasons */
    int needed; /* the least bytes of a lane's access: 4, 8 or 16 for asynchronous copies,
                 * otherwise 0 */
    int weight; /* how often it happens, relative to the other accesses */
    /* Axis (counted from 1) whose neighbouring elements must not be in one vector, because they
     * are used one after the other; 0: none. */
    int apart;
};

struct shared_wish {
    int32_t extents[6];
    int rank;
    int bits; /* of an element */
    int count;
    struct shared_access access[SHARED_ACCESSES];
    bool may_pad;       /* rows may have padding */
    bool no_xor;        /* no swizzles: a place is a sum, whatever is added to a coordinate */
    bool may_be_linear; /* any bijection over GF(2) is allowed, whatever its addresses look like;
                         * for scratch tiles */
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
extern const char *const layout_shared_form_names[SHARED_FORMS];

struct shared_choice {
    struct layout layout; /* d0, d1, … -> at */
    enum shared_form form;
    struct access access[SHARED_ACCESSES]; /* the resulting form of each access, with its
                                            * wavefronts */
    int64_t bytes;
    int64_t cost; /* as defined in layout_swizzle.c; INT64_MAX: no layout has the needed vectors */
};

/* Gives the best layout found. Returns false if no layout meets an access's needs. */
bool layout_choose_shared(const struct shared_wish *wish, struct shared_choice *out);
/* Does the same if access 0 is a copy from global memory that may be spread over the threads in
 * any coalesced way: `vector` elements a lane, `warps` warps. *copy is the best such layout (its
 * `regs` in `wish` are ignored). */
bool layout_choose_with_copy(const struct shared_wish *wish, int vector, int warps,
                             struct layout *copy, struct shared_choice *out);
/* Rates a given layout. Returns false if it does not meet an access's needs. */
bool layout_rate_shared(const struct shared_wish *wish, const struct layout *layout,
                        struct shared_choice *out);

/* For layout_swizzle.c: gives the layout of the linear method (layout_complement.c), built for
 * the vectors of access `leader` (-1: for those that all accesses have). Returns false if
 * extents or accesses are not linear. */
bool layout_from_complement(const struct shared_wish *wish, int leader, struct layout *out);

#endif
