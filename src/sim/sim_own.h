/* What the files of the machine share: registers, warps, predecoded instructions.
 *
 * A register is 32 lanes side by side in the warp's file (uint16_t, uint32_t, uint64_t or 16 bytes a lane, aligned to 64),
 * a predicate a word with a bit a lane. Constants and special registers that do not change are registers too, filled when
 * a warp begins, so that a handler has nothing but offsets into the file.
 */
#ifndef TW_SIM_OWN_H
#define TW_SIM_OWN_H

#include "sim/sim.h"

struct sim_warp;
struct sim_op;

/* Runs one instruction for the lanes of `mask` (never 0). Lanes outside it keep their registers. False: the warp cannot
 * go on now (it waits: sim_warp.state says for what), or the launch is over. */
typedef bool sim_handler(struct sim_warp *w, const struct sim_op *op, uint32_t mask);

enum { SIM_MOST_SLOTS = 6, SIM_NO_SLOT = UINT32_MAX };

struct sim_op {
    sim_handler *run;
    /* Offsets into the file: destination(s) first, in the order of the operands. */
    uint32_t slot[SIM_MOST_SLOTS];
    const uint32_t *more; /* of instructions with more: vectors, fragments; all of them, flattened */
    uint32_t more_count;
    uint32_t guard; /* predicate's offset, SIM_NO_SLOT: none */
    bool guard_negated;
    bool ends;      /* branches, barriers …: the run of straight code ends here */
    uint8_t bytes;  /* of an access: of a lane */
    uint16_t small; /* families use these as they like */
    int64_t imm;    /* address offset, … */
    uint32_t target; /* op that a branch goes to */
    const void *data; /* what else a family prepared */
    const struct ptx_instruction *ins;
    struct loc where;
};

/* While a function is predecoded. */
struct sim_decoder;
/* The slot of a register; of a source operand (register, constant, special register) of a type of `bits` bits, constants
 * being converted to it as PTX says (an integer to a float type is an error of the verifier). */
uint32_t sim_slot_of_register(struct sim_decoder *d, uint32_t reg);
uint32_t sim_slot_of(struct sim_decoder *d, const struct ptx_operand *o, enum ptx_mod type);
/* A scratch register of so many bytes a lane, for a family's own use; a constant. */
uint32_t sim_slot_new(struct sim_decoder *d, int bytes);
uint32_t sim_slot_constant(struct sim_decoder *d, uint64_t bits, int bytes);
int sim_register_bytes(const struct sim_decoder *d, uint32_t reg); /* 2, 4, 8, 16; 0: predicate */
struct arena *sim_decoder_arena(struct sim_decoder *d);
int sim_decoder_target(const struct sim_decoder *d); /* 80 */

/* Each family: is it one of mine? Then fills op->run and slots. A form that it does not know: false too, and the launch stops
 * there when it gets there, naming it. */
typedef bool sim_choose(struct sim_decoder *d, const struct ptx_instruction *ins, struct sim_op *op);
sim_choose sim_choose_integer, sim_choose_bits, sim_choose_float, sim_choose_half,
    sim_choose_convert, sim_choose_compare, sim_choose_move, sim_choose_memory, sim_choose_atomic,
    sim_choose_lanes, sim_choose_control, sim_choose_barrier, sim_choose_async, sim_choose_matrix,
    sim_choose_mbarrier;

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
static inline double *sim_f64(uint8_t *file, uint32_t slot)
{
    return (double *)(void *)(file + slot);
}

#endif
