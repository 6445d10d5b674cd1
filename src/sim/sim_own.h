/* What the files of the machine share: registers, warps, predecoded instructions.
 *
 * A register is 32 lanes side by side in the frame's file (uint16_t, uint32_t, uint64_t or 16 bytes
 * a lane, aligned to 64), a predicate a uint32_t with a bit a lane. Registers of 8 bits have 16.
 * Constants and special registers that do not change are registers too, filled when a frame begins,
 * so that a handler has nothing but offsets into w->file.
 *
 * A family is a file sim_NAME.c with static handlers and one sim_choose_NAME. Files whose handlers
 * are loops over lanes are compiled a second time for AVX2 (SIM_V3 is defined then), but for what
 * is seldom: they define no other external name.
 */
#ifndef TW_SIM_OWN_H
#define TW_SIM_OWN_H

#include "sim/sim.h"

struct sim_warp;
struct sim_op;

/* Runs one instruction for the lanes of `mask` (never 0; the guard is in it already; any subset of
 * the warp where paths have diverged). Lanes outside it keep their registers. True: go on with the
 * next instruction. False: what sim_stop, sim_proceed, … returned, to be passed on as it is. */
typedef bool sim_handler(struct sim_warp *w, const struct sim_op *op, uint32_t mask);

enum { SIM_MOST_SLOTS = 6 };
#define SIM_NO_SLOT UINT32_MAX
#define SIM_ALL UINT32_MAX /* the mask of a whole warp */

struct sim_op {
    sim_handler *run;
    /* Offsets into the file: destination(s) first, in the order of the operands. */
    uint32_t slot[SIM_MOST_SLOTS];
    uint32_t guard;      /* offset of a predicate; of one that is always true if there is none */
    uint32_t guard_flip; /* SIM_ALL: @!p */
    /* Of an access (sim_decode_address): the address is the register at `address` (4 or 8 bytes a
     * lane by address_bytes, 0: no register) + imm. */
    uint32_t address;
    uint8_t address_bytes;
    uint8_t space;          /* enum sim_window */
    uint8_t bytes;          /* of a lane, all of a vector's */
    uint8_t order, scope;   /* enum sim_order, sim_scope */
    uint16_t small, small2; /* families use these, imm and data as they like */
    int64_t imm;            /* address offset, … */
    uint32_t target;        /* op that a branch goes to */
    uint32_t more_count;
    const uint32_t
        *more; /* slots of instructions with more: vectors, fragments; all of them, flattened */
    const void *data; /* what else a family prepared, in sim_decoder_arena */
    const struct ptx_instruction *ins;
    struct loc where;
};

/* --- while a function is predecoded --- */

struct sim_decoder;
/* The slot of a register; of a source operand (register, constant, special register that does not
 * change, address of a variable or function), constants being converted to the type as PTX says. A
 * predicate's `!` is the caller's affair (o->negated). SIM_NO_SLOT: an operand of another kind. */
uint32_t sim_slot_of_register(struct sim_decoder *d, uint32_t reg);
uint32_t sim_slot_of(struct sim_decoder *d, const struct ptx_operand *o, enum ptx_mod type);
/* The slot of a destination: a register, or for `_` (also of a wider type) a scratch register. */
uint32_t sim_slot_destination(struct sim_decoder *d, const struct ptx_operand *o,
                              enum ptx_mod type);
/* A scratch register of so many bytes a lane (0: a predicate), for a family's own use; a constant
 * in all lanes (bytes 0: a predicate, bits 0 or 1). */
uint32_t sim_slot_new(struct sim_decoder *d, int bytes);
uint32_t sim_slot_constant(struct sim_decoder *d, uint64_t bits, int bytes);
/* The carry of add.cc and the like, a predicate. */
uint32_t sim_slot_carry(struct sim_decoder *d);
int sim_register_bytes(const struct sim_decoder *d, uint32_t reg); /* 2, 4, 8, 16; 0: predicate */
/* Bytes a lane of an operand's register; of a constant those of the type. 0: predicate. */
int sim_operand_bytes(const struct sim_decoder *d, const struct ptx_operand *o, enum ptx_mod type);
struct arena *sim_decoder_arena(struct sim_decoder *d);
int sim_decoder_target(const struct sim_decoder *d); /* 80 */
const struct ptx_function *sim_decoder_function(const struct sim_decoder *d);
/* Puts the slots of a vector's elements ({…}; or of the one operand) of a type behind those in
 * op->more; sinks as sim_slot_destination. For sources and destinations alike. False: an operand of
 * another kind. */
bool sim_more_of(struct sim_decoder *d, struct sim_op *op, const struct ptx_operand *o,
                 enum ptx_mod type);
/* Fills address, address_bytes, space, imm from an address operand [a+8] and the n-th state space
 * among the modifiers (generic if there is none). False: not one that it knows. */
bool sim_decode_address(struct sim_decoder *d, const struct ptx_instruction *ins,
                        const struct ptx_operand *o, int nth_space, struct sim_op *op);
/* order and scope, from the modifiers. */
void sim_decode_order(const struct ptx_instruction *ins, struct sim_op *op);

/* Each family: is it one of mine? Then fills op->run and slots. A form that it does not know: false
 * too, and the launch stops there when it gets there, naming it. */
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
    sim_choose_matrix, sim_choose_mma, sim_choose_mma_quads, sim_choose_mbarrier, sim_choose_stack;

/* --- memory --- */

/* What space an instruction names. Generic addresses have the number of an allocation in the bits
 * from 36 on, the offset below; of the space's own addresses, shared and local ones are offsets
 * alone. */
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
/* Numbers that are no allocations; those start at SIM_FIRST_ALLOCATION. */
enum {
    SIM_NUMBER_NULL,
    SIM_NUMBER_SHARED,
    SIM_NUMBER_LOCAL,
    SIM_NUMBER_PARAM, /* of the kernel */
    SIM_NUMBER_CODE,  /* functions: offset 16 * number */
    SIM_FIRST_ALLOCATION = 16
};

/* What an instruction other than ld and st does with memory. */
struct sim_want {
    enum sim_kind kind;
    int bytes; /* of a lane; the address must be aligned to `alignment` */
    int alignment;
    int element;            /* bytes of an element of a vector; 0: as bytes */
    enum sim_matrix matrix; /* with `matrices`: see struct sim_access */
    int matrices;
    /* Of writes, by lane: what will be written; NULL: not known */
    const uint8_t *const *value;
};
/* Host addresses of what the lanes of mask have at op's address (sim_decode_address), checked;
 * observers are told, once a space. Of lanes with a fault that an observer lets pass, the host
 * address is 64 zero bytes that may be written. False: the launch is over. */
bool sim_reach(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
               const struct sim_want *want, uint8_t *host[SIM_LANES]);
/* The same for addresses that the caller computed, in op's space. */
bool sim_reach_at(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                  const uint64_t address[SIM_LANES], const struct sim_want *want,
                  uint8_t *host[SIM_LANES]);
/* The same, but observers are told of faults alone. */
bool sim_reach_untold(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                      const uint64_t address[SIM_LANES], const struct sim_want *want,
                      uint8_t *host[SIM_LANES]);
/* What observers are told of op's access, all but space, mask and lanes: those are not set. */
void sim_access_begin(const struct sim_warp *w, const struct sim_op *op,
                      const struct sim_want *want, struct sim_access *access);
/* The addresses that op has, in its space. */
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
    /* Its last read that may be a poll, of this lane's address; NULL: none. */
    const struct sim_op *poll;
    int poll_lane;
    uint64_t polled_at;
};

enum sim_pending { SIM_WAIT_NOTHING, SIM_WAIT_LANES, SIM_WAIT_BARRIER };

enum sim_state {
    SIM_RUNS,   /* as far as the handler knows */
    SIM_JUMPS,  /* to w->next, with all lanes of the path */
    SIM_CHOOSES /* the paths have changed */
};

struct sim_warp {
    uint8_t *file;      /* registers of the frame at hand */
    uint32_t path_mask; /* of the path at hand, its guard aside */
    uint32_t alive;     /* lanes that have not exited */
    bool observed;      /* there are observers that are to be told of more than instructions, */
    bool watched;       /* of accesses */
    bool stepped;       /* of each instruction */
    bool polled;        /* since the last backward branch: a read that may be a poll */
    bool rotates;       /* the path that ran longest ago is next, */
    bool favours;       /* and goes on until it polls or waits */
    bool polled_mbarrier;
    bool wait_ends;      /* the next branch backwards of a loop that polls memory is not taken */
    uint64_t idle_since; /* the machine's changes when it last had to wait in a loop */
    int64_t steps;       /* instructions that it has run */
    uint8_t state;       /* enum sim_state, after a handler returned false */
    const struct sim_op *next;
    uint8_t *shared; /* of the block */
    uint64_t shared_bytes;
    struct sim *sim;
    struct sim_block *block;
    struct sim_frame *frame;
    int number;           /* in the block */
    uint32_t lanes;       /* that it had at the start: fewer than 32 in a block's last warp */
    int path_count, path; /* the one at hand */
    struct sim_path paths[SIM_LANES];
    /* local memory: stride bytes a lane, lanes one behind the other */
    uint8_t *local;
    size_t local_stride;
    struct sim_copies *copies; /* asynchronous ones under way */
    /* Registers with undefined lanes, of all frames; they were none until this instruction; where
     * they came from. */
    uint32_t undefined;
    bool switches;
    struct sim_origin *origins;
    uint32_t tid[3][SIM_LANES];
};

/* The launch is over: what is wrong, the place is added. All return false. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
bool sim_stop(struct sim_warp *w, const struct sim_op *op, const char *format, ...);
/* For .sync instructions: the lanes of mask whose members (a register of masks, lane by lane) are
 * all here, the exited ones aside. Tells observers of SIM_WARP_SYNC. Then run the instruction for
 * the lanes that it gives, lane i together with those of members[i], and return sim_proceed with
 * them. (0: run nothing, return sim_proceed all the same.) */
uint32_t sim_gather(struct sim_warp *w, const struct sim_op *op, uint32_t mask,
                    const uint32_t members[SIM_LANES]);
/* Lanes `done` of `mask` go on behind op, the others wait at it for the lanes that they miss. */
bool sim_proceed(struct sim_warp *w, const struct sim_op *op, uint32_t mask, uint32_t done);
/* For .aligned instructions without a mask (mma, ldmatrix): all lanes alive must be here. */
bool sim_gather_all(struct sim_warp *w, const struct sim_op *op, uint32_t mask);
/* Behind the last act of an instruction that may have brought the warp's first undefined values
 * (sim_undefined.c), which then runs another way. */
static inline bool sim_goes_on(struct sim_warp *w, const struct sim_op *op, bool on)
{
    if (!on || !w->switches)
        return on;
    w->switches = false;
    w->paths[w->path].pc = op + 1;
    w->state = SIM_CHOOSES;
    return false;
}
/* A load got what nothing wrote. */
bool sim_undefined_loaded(struct sim_warp *w, const struct sim_op *op);
/* Does somebody want to know what is undefined? Then, of shfl.sync: from which lanes those of
 * `done` get their value, and those that get it from a lane that takes no part. */
bool sim_traces(const struct sim_warp *w);
void sim_undefined_shuffled(struct sim_warp *w, const struct sim_op *op, uint32_t done,
                            const uint8_t from[SIM_LANES], uint32_t lost);
/* The instruction may be a poll: somebody else is to change what it reads. */
void sim_polls(struct sim_warp *w, const struct sim_op *op, uint32_t mask, bool mbarrier);
/* Who does this, for events. */
void sim_place_of(const struct sim_warp *w, const struct sim_op *op, struct sim_place *place);
/* Tells observers. False: one asks to stop, which is noted. */
bool sim_tell_sync(struct sim_warp *w, struct sim_sync_event *event);
bool sim_tell_access(struct sim_warp *w, const struct sim_access *access);
bool sim_tell_async(struct sim_warp *w, struct sim_async_event *event);

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
