/* Declarations that the files of the machine share: registers, warps, predecoded instructions.
 *
 * A register is 32 consecutive lanes in the frame's file (uint16_t, uint32_t, uint64_t or 16 bytes
 * for each lane, aligned to 64); a predicate is a uint32_t with a bit for each lane. Registers of 8
 * bits have 16. Constants and special registers that do not change are registers too, filled when a
 * frame begins, so a handler only needs offsets into w->file.
 *
 * A family is a file sim_NAME.c with static handlers and one sim_choose_NAME. Files whose
 * handlers are loops over lanes are compiled a second time for AVX2 (SIM_V3 is defined then),
 * without the rare handlers: they define no other external name. */
#ifndef TW_SIM_OWN_H
#define TW_SIM_OWN_H

#include "sim/sim.h"

struct sim_warp;
struct sim_op;

/* Runs one instruction for the lanes of `mask`: never 0, the guard already applied, any subset
 * of the warp if paths have diverged. The registers of other lanes keep their values. Returns
 * true to go on with the next instruction; otherwise the false that sim_stop, sim_proceed, …
 * returned. */
typedef bool sim_handler(struct sim_warp *w, const struct sim_op *op, uint32_t mask);

enum { SIM_MOST_SLOTS = 6 };
#define SIM_NO_SLOT UINT32_MAX
#define SIM_ALL UINT32_MAX /* the mask of a whole warp */

struct sim_op {
    sim_handler *run;
    /* Offsets into the file: destinations first, in the order of the operands. */
    uint32_t slot[SIM_MOST_SLOTS];
    uint32_t guard;      /* offset of the guard; without one, of a predicate that is always true */
    uint32_t guard_flip; /* SIM_ALL: @!p */
    /* Accesses (sim_decode_address): the address is the register at `address` plus imm. The
     * register has address_bytes bytes in each lane: 4, 8, or 0 for no register. */
    uint32_t address;
    uint8_t address_bytes;
    uint8_t space;          /* enum sim_window */
    uint8_t bytes;          /* of a lane, for the whole vector */
    uint8_t order, scope;   /* enum sim_order, sim_scope */
    uint16_t small, small2; /* for each family's own use, as imm and data are */
    int64_t imm;            /* address offset, … */
    uint32_t target;        /* op that a branch goes to */
    uint32_t more_count;
    const uint32_t
        *more; /* slots of vectors, fragments and other instructions with more operands, all in
                * one list */
    const void *data; /* further data that a family prepared, in sim_decoder_arena */
    const struct ptx_instruction *ins;
    struct loc where;
};

/* --- while a function is predecoded --- */

struct sim_decoder;
/* Return the slot of a register, or of a source operand: a register, constant, special register
 * that does not change, or address of a variable or function. Constants are converted to the
 * type as PTX says. The caller handles a predicate's `!` (o->negated). SIM_NO_SLOT: an operand
 * of another kind. */
uint32_t sim_slot_of_register(struct sim_decoder *d, uint32_t reg);
uint32_t sim_slot_of(struct sim_decoder *d, const struct ptx_operand *o, enum ptx_mod type);
/* Returns the slot of a destination: a register, or for `_` (also of a wider type) a scratch
 * register. */
uint32_t sim_slot_destination(struct sim_decoder *d, const struct ptx_operand *o,
                              enum ptx_mod type);
/* Return the slot of a scratch register for a family's own use, with `bytes` bytes in each lane
 * (0: a predicate), and of a constant in all lanes (bytes 0: a predicate, bits 0 or 1). */
uint32_t sim_slot_new(struct sim_decoder *d, int bytes);
uint32_t sim_slot_constant(struct sim_decoder *d, uint64_t bits, int bytes);
/* Returns the slot of the carry of add.cc and similar instructions, a predicate. */
uint32_t sim_slot_carry(struct sim_decoder *d);
int sim_register_bytes(const struct sim_decoder *d, uint32_t reg); /* 2, 4, 8, 16; 0: predicate */
/* Returns the bytes in a lane of an operand's register, for a constant those of the type. 0:
 * predicate. */
int sim_operand_bytes(const struct sim_decoder *d, const struct ptx_operand *o, enum ptx_mod type);
struct arena *sim_decoder_arena(struct sim_decoder *d);
int sim_decoder_target(const struct sim_decoder *d); /* 80 */
const struct ptx_function *sim_decoder_function(const struct sim_decoder *d);
/* Appends the slots of a vector's elements ({…}, or the one operand) of a type to op->more;
 * sinks get scratch registers as in sim_slot_destination. For sources and destinations. Returns
 * false for an operand of another kind. */
bool sim_more_of(struct sim_decoder *d, struct sim_op *op, const struct ptx_operand *o,
                 enum ptx_mod type);
/* Sets address, address_bytes, space and imm from an address operand [a+8] and the n-th state
 * space among the modifiers (generic if there is none). Returns false if it does not know the
 * operand. */
bool sim_decode_address(struct sim_decoder *d, const struct ptx_instruction *ins,
                        const struct ptx_operand *o, int nth_space, struct sim_op *op);
/* Sets order and scope from the modifiers. */
void sim_decode_order(const struct ptx_instruction *ins, struct sim_op *op);

/* Chooses a handler: if the instruction belongs to the family, sets op->run and slots and
 * returns true. Also returns false for a form that the family does not know; the launch stops
 * when it reaches that instruction, and names it. */
typedef bool sim_choose(struct sim_decoder *d, const struct ptx_instruction *ins,
                        struct sim_op *op);
#ifdef SIM_V3
#define sim_choose_integer sim_choose_integer_v3
#define sim_choose_bits sim_choose_bits_v3
#define sim_choose_float sim_choose_float_v3
#define sim_choose_compare sim_choose_compare_v3
#define sim_choose_move sim_choose_move_v3
#define sim_choose_access sim_choose_access_v3
#define sim_choose_lanes sim_choose_lanes_v3
#define sim_choose_mma sim_choose_mma_v3
#endif
sim_choose sim_choose_integer, sim_choose_bits, sim_choose_float, sim_choose_half,
    sim_choose_convert, sim_choose_compare, sim_choose_approx, sim_choose_move, sim_choose_access,
    sim_choose_atomic, sim_choose_lanes, sim_choose_control, sim_choose_barrier, sim_choose_async,
    sim_choose_matrix, sim_choose_mma, sim_choose_mma_quads, sim_choose_mbarrier, sim_choose_stack,
    sim_choose_bulk, sim_choose_tensor, sim_choose_wgmma, sim_choose_registers, sim_choose_cluster;

/* --- memory --- */

/* The space that an instruction names. Generic addresses have the number of an allocation in the
 * bits from 36 on, and the offset below. An address in shared or local space is just an offset. */
enum sim_window {
    SIM_IN_GENERIC,
    SIM_IN_GLOBAL,
    SIM_IN_SHARED,
    SIM_IN_LOCAL,
    SIM_IN_CONST,
    SIM_IN_PARAM
};
enum { SIM_OFFSET_BITS = 36 };
_Static_assert(SIM_MOST_BYTES == UINT64_C(1) << SIM_OFFSET_BITS, "an allocation has one number");
/* Numbers that are not allocations; those start at SIM_FIRST_ALLOCATION. */
enum {
    SIM_NUMBER_NULL,
    SIM_NUMBER_SHARED,
    SIM_NUMBER_LOCAL,
    SIM_NUMBER_PARAM, /* of the kernel */
    SIM_NUMBER_CODE,  /* functions: offset 16 * number */
    SIM_FIRST_ALLOCATION = 16
};

/* The memory access of an instruction other than ld and st. */
struct sim_want {
    enum sim_kind kind;
    int bytes; /* of a lane; the address must be aligned to `alignment` */
    int alignment;
    int element;            /* bytes of an element of a vector; 0: as `bytes` */
    enum sim_matrix matrix; /* with `matrices`: see struct sim_access */
    int matrices;
    /* Writes: the bytes that each lane will write; NULL: not known */
    const uint8_t *const *value;
};
/* Gives the checked host addresses of the lanes of mask for op's address (sim_decode_address),
 * and tells observers once for each space. A lane whose fault an observer let pass gets the
 * address of 64 zero bytes that may be written. Returns false if the launch is over. */
bool sim_reach(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
               const struct sim_want *want, uint8_t *host[SIM_LANES]);
/* Does the same for addresses that the caller computed, in op's space. */
bool sim_reach_at(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                  const uint64_t address[SIM_LANES], const struct sim_want *want,
                  uint8_t *host[SIM_LANES]);
/* Does the same, but tells observers of faults alone. */
bool sim_reach_untold(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                      const uint64_t address[SIM_LANES], const struct sim_want *want,
                      uint8_t *host[SIM_LANES]);
/* Fills the event of op's access for observers, except for its space, mask and lanes. */
void sim_access_begin(const struct sim_warp *w, const struct sim_op *op,
                      const struct sim_want *want, struct sim_access *access);
/* Gives the addresses of op, in its space. */
void sim_addresses(const struct sim_warp *w, const struct sim_op *op, uint64_t address[SIM_LANES]);

/* --- running --- */

struct sim_frame;
struct sim_block;

/* Lanes that are at the same place. */
struct sim_path {
    struct sim_frame *frame;
    const struct sim_op *pc;
    uint32_t mask;
    uint8_t wait;     /* enum sim_pending */
    uint8_t barrier;  /* SIM_WAIT_BARRIER: its number */
    uint32_t members; /* SIM_WAIT_LANES: lanes that it waits for */
    uint64_t turn;    /* when it ran last */
    /* Its last read that may be a poll, with the address of lane poll_lane; NULL: none. */
    const struct sim_op *poll;
    int poll_lane;
    uint64_t polled_at;
};

enum sim_pending {
    SIM_WAIT_NOTHING,
    SIM_WAIT_LANES,
    SIM_WAIT_BARRIER,
    SIM_WAIT_PRODUCT, /* for the other warps of its warpgroup */
    SIM_WAIT_CLUSTER
};

enum sim_state {
    SIM_RUNS,   /* the handler did not set another state */
    SIM_JUMPS,  /* to w->next, with all lanes of the path */
    SIM_CHOOSES /* the paths have changed */
};

struct sim_warp {
    uint8_t *file;      /* registers of the current frame */
    uint32_t path_mask; /* lanes of the current path, before its guard */
    uint32_t alive;     /* lanes that have not exited */
    bool observed;      /* observers want to hear of more than instructions */
    bool watched;       /* of accesses */
    bool stepped;       /* of each instruction */
    bool polled;        /* since the last backward branch, a read that may be a poll ran */
    bool rotates;       /* the path that ran longest ago is next */
    bool favours;       /* that path goes on until it polls or waits */
    bool polled_mbarrier;
    bool wait_ends;      /* the next backward branch of a loop that polls memory is not taken */
    uint64_t idle_since; /* sim->changes when the warp last had to wait in a loop */
    int64_t steps;       /* instructions that it has run */
    uint8_t state;       /* enum sim_state, after a handler returned false */
    const struct sim_op *next;
    uint8_t *shared; /* of the block */
    uint64_t shared_bytes;
    struct sim *sim;
    struct sim_block *block;
    struct sim_frame *frame;
    int number;           /* in the block */
    uint32_t lanes;       /* lanes that it began with: fewer than 32 in a block's last warp */
    int path_count, path; /* the current one */
    struct sim_path paths[SIM_LANES];
    /* local memory: local_stride bytes for each lane, one lane after the other */
    uint8_t *local;
    size_t local_stride;
    struct sim_copies *copies; /* asynchronous ones under way */
    struct sim_bulk_groups *bulk_groups;
    struct sim_held *held; /* registers of products; NULL: none so far */
    int registers;         /* that each thread has: setmaxnreg */
    /* Lanes that have arrived at the cluster's barrier and not waited, and those of them whose
     * phase is not complete. */
    uint32_t cluster_open, cluster_arrived;
    /* `undefined`: registers with undefined lanes, of all frames; `switches`: there were none
     * before this instruction; `origins`: the sources of the undefined values. */
    uint32_t undefined;
    bool switches;
    struct sim_origin *origins;
    uint32_t tid[3][SIM_LANES];
};

/* Ends the launch with a message, to which it adds the place. Returns false. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
bool sim_stop(struct sim_warp *w, const struct sim_op *op, const char *format, ...);
/* For .sync instructions: returns the lanes of mask whose members (a register of masks, one for
 * each lane) have all arrived or exited. Tells observers of SIM_WARP_SYNC. The caller then runs
 * the instruction for the returned lanes, lane i together with members[i], and returns
 * sim_proceed with them. (0: it runs nothing, and still returns sim_proceed.) */
uint32_t sim_gather(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                    const uint32_t members[SIM_LANES]);
/* Lets lanes `done` of `mask` go on after op; the others wait at op for the lanes that they
 * miss. */
bool sim_proceed(struct sim_warp *w, const struct sim_op *op, uint32_t mask, uint32_t done);
/* For .aligned instructions without a mask (mma, ldmatrix): requires that all live lanes are
 * here. */
bool sim_gather_all(struct sim_warp *w, const struct sim_op *op, uint32_t mask);
/* Called at the end of an instruction that may have made the warp's first undefined values. If
 * it has, the warp now runs in another way (sim_undefined.c). */
static inline bool sim_goes_on(struct sim_warp *w, const struct sim_op *op, bool on)
{
    if (!on || !w->switches)
        return on;
    w->switches = false;
    w->paths[w->path].pc = op + 1;
    w->state = SIM_CHOOSES;
    return false;
}
/* Notes that a load read bytes that were never written. */
bool sim_undefined_loaded(struct sim_warp *w, const struct sim_op *op);
/* sim_traces returns true if an observer wants to hear of undefined values. If so, the handler
 * of shfl.sync calls sim_undefined_shuffled. from: the lanes from which the lanes of `done` get
 * their values; lost: the lanes that get one from a lane that does not take part. */
bool sim_traces(const struct sim_warp *w);
void sim_undefined_shuffled(struct sim_warp *w, const struct sim_op *op, uint32_t done,
                            const uint8_t from[SIM_LANES], uint32_t lost);
/* Notes that the instruction may be a poll: a read of memory that another thread is to change. */
void sim_polls(struct sim_warp *w, const struct sim_op *op, uint32_t mask, bool mbarrier);
/* Fills the place of an event: block, warp and instruction. */
void sim_place_of(const struct sim_warp *w, const struct sim_op *op, struct sim_place *place);
/* Tells observers. Returns false if one asks to stop, and notes that. */
bool sim_notify_sync(struct sim_warp *w, struct sim_sync_event *event);
bool sim_notify_access(struct sim_warp *w, const struct sim_access *access);
bool sim_notify_async(struct sim_warp *w, struct sim_async_event *event);

static inline uint16_t *sim_u16(uint8_t *file, uint32_t slot)
{
    return (uint16_t *)(void *)(file + slot);
}
static inline uint32_t *sim_u32(uint8_t *file, uint32_t slot)
{
    return (uint32_t *)(void *)(file + slot);
}
static inline uint64_t *sim_u64(uint8_t *file, uint32_t slot)
{
    return (uint64_t *)(void *)(file + slot);
}
static inline float *sim_f32(uint8_t *file, uint32_t slot)
{
    return (float *)(void *)(file + slot);
}

#endif
