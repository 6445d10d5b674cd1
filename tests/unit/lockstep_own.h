/* Shared declarations of the lockstep machine's files. */
#ifndef LOCKSTEP_OWN_H
#define LOCKSTEP_OWN_H

#include "base/dtype.h"
#include "lockstep.h"

/* The latest uses of a byte of shared memory. */
struct byte_use {
    int32_t write_at, read_at; /* number of barriers before the use; -1: never */
    int16_t writer, reader;    /* warps; reader -2: several */
};

struct machine {
    struct lockstep *s;
    const struct ptx_function *f;
    uint64_t *regs; /* [thread][register] */
    uint32_t *pc;   /* of each thread; UINT32_MAX: it has left */
    bool *waits;    /* at a barrier */
    int threads, block[3], ctaid[3];
    uint8_t *shared;
    struct byte_use *use;
    VEC(struct machine_variable {
        const struct ptx_variable *variable;
        uint8_t *image; /* of .local: of thread 0 */
        size_t bytes;
    })
    variables;
    int32_t barrier;
    const struct ptx_instruction *ins; /* at hand */
    const char *why;
};

void machine_stop(struct machine *m, const char *what);

/* --- numbers: floats of any type as doubles; integers extended to 64 bits --- */

static inline bool is_float(enum ptx_mod t)
{
    return t == PTX_F16 || t == PTX_BF16 || t == PTX_F32 || t == PTX_F64;
}
static inline bool is_signed(enum ptx_mod t)
{
    return ptx_mods[t].class == PTX_CLASS_SIGNED;
}
static inline int bits_of(enum ptx_mod t)
{
    return t == PTX_PRED ? 1 : ptx_mods[t].bits;
}
float bits_as_f32(uint64_t v);
uint64_t bits_of_f32(float f);
double bits_as_f64(uint64_t v);
uint64_t bits_of_f64(double d);
double bits_load(enum ptx_mod t, uint64_t v);
uint64_t bits_store(enum ptx_mod t, double d); /* one rounding */
uint64_t bits_extend(enum ptx_mod t, uint64_t v);

/* --- operands --- */

uint64_t *machine_reg(struct machine *m, int thread, uint32_t reg);
/* Returns an operand's bits; machine_arg returns those of operand i, integers extended. */
uint64_t machine_value(struct machine *m, int thread, const struct ptx_operand *o, enum ptx_mod t);
uint64_t machine_arg(struct machine *m, int thread, int i, enum ptx_mod t);
void machine_set(struct machine *m, int thread, const struct ptx_operand *o, uint64_t v);
void machine_result(struct machine *m, int thread, uint64_t v); /* to operand 0 */
/* Returns the registers of a vector operand, or the single register. */
const struct ptx_operand *machine_parts(const struct ptx_operand *o, int *count);
uint64_t machine_address(struct machine *m, int thread, const struct ptx_variable *v);
/* Returns the host address for a checked address; NULL: it points into no memory, and the
 * machine stops. */
uint8_t *machine_place(struct machine *m, int thread, const struct ptx_operand *o, bool shared,
                       size_t bytes, bool write);

/* --- instructions; a function returns false if the instruction is not its own --- */

/* Combines a and b by an operation of atomics and redux. */
uint64_t machine_combined(enum ptx_mod op, enum ptx_mod t, uint64_t a, uint64_t b);
bool machine_memory(struct machine *m, int thread);
bool machine_number(struct machine *m, int thread);
bool machine_is_together(enum ptx_op op);
void machine_together(struct machine *m, int first); /* by a whole warp */

#endif
