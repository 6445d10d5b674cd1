/* The state of lowering one kernel, which all files of this folder share. */
#ifndef TW_LOWER_STATE_H
#define TW_LOWER_STATE_H

#include "base/pointer_map.h"
#include "lower/lower.h"
#include "plan/plan_layouts.h"
#include "ptx/ptx_build.h"

#include <stddef.h>

struct value;  /* lower_value.h */
struct frame;  /* a loop being emitted: lower_value.h */
struct values; /* the graph's own */
struct memory; /* barriers, scratch, pending accesses: lower_memory.h */
struct bodies; /* statements: lower_body.h */
struct arrays; /* of a thread: lower_array.c; made at the first use */
struct recent; /* loads just made: lower_recent.c */
struct tiles;  /* layouts interned, tiles of symbols: lower_holders.c */

enum {
    SHARED_ALIGNMENT = 1024, /* of the block's dynamic shared memory */
    SHARED_WINDOW = 1 << 24  /* bytes that addresses in .shared lie within */
};

struct lower {
    union {
        struct layouts layouts;
        struct { /* the members of `layouts`, in their order */
            struct arena *arena;
            struct kernel *kernel;
            const struct target *target;
            struct diag *diag;
            struct lowered *out;
            int warps;
            int threads;
            struct plan *plan;
            struct kept_layouts *kept;
            bool failed;
        };
    };
    const struct lower_options *options;
    struct ptx_builder b; /* every file emits with ptx_emit(&l->b, …) */
    struct values *values;
    struct frame *frame; /* innermost loop, NULL: none */
    struct memory *memory;
    struct bodies *bodies;
    struct arrays *arrays;       /* NULL: none yet */
    struct recent *recent;       /* NULL: none yet */
    struct tiles *tiles;         /* NULL until the first tile is made */
    struct ptx_variable *shared; /* the block's dynamic shared memory */
    bool has_hidden_zero;
    struct ptx_operand hidden_zero; /* .b32; 0, which the assembler cannot know */
};
_Static_assert(offsetof(struct lower, failed) == offsetof(struct layouts, failed),
               "the members of struct layouts");

/* Reports an error of the user's program at `loc` and marks the lowering failed. */
void lower_error(struct lower *l, struct loc loc, const char *format, ...) DIAG_FORMAT(3, 4);
/* The instructions to come belong to this place of the source (.loc). */
void lower_line(struct lower *l, struct loc loc);
/* Places to come are of this text: names its file (.file), finds where its lines begin. lower_line
 * does it for a text that is not the one before; ahead of the function it is done for the kernel's
 * own. */
void lower_source(struct lower *l, const struct source *source);
static inline bool lower_has(const struct lower *l, enum target_feature feature)
{
    return target_has(l->target, feature);
}
/* Thread level, and the number of threads is no multiple of 32 (tile ops then have no layout). */
bool lower_ragged_block(const struct lower *l);

#endif
