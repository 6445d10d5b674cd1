/* The emitter, for its own files. */
#ifndef TW_NVPTX_OWN_H
#define TW_NVPTX_OWN_H

#include "nvptx/nvptx.h"
#include "ptx/ptx_build.h"

/* The registers of a value. */
struct nvptx_registers {
    uint16_t words;
    struct ptx_operand *word;
};

struct nvptx_loop;

struct nvptx {
    struct arena *arena;
    struct diag *diag;
    const struct thread_function *function;
    struct ptx_builder build;
    struct nvptx_registers
        *registers;            /* by the number of a value, or of the one that it shares with */
    uint32_t *shares;          /* by number: the value whose registers it has */
    struct ptx_operand memory; /* address of shared memory */
    struct ptx_operand guard;  /* of the effects of an `if`; kind PTX_NOTHING: none */
    struct nvptx_loop *loop;   /* innermost */
    const struct thread_operation *branch; /* the `if` of this region */
    bool failed;
};

/* Finds groups that can share registers. */
void nvptx_share(struct nvptx *n);
/* Returns the registers of a value; they are made when it is first asked for. */
const struct nvptx_registers *nvptx_registers_of(struct nvptx *n, const struct thread_value *v);
uint16_t nvptx_words(struct thread_type type);
enum ptx_mod nvptx_word_type(enum dtype t);

/* Returns word `i` of an operand of that type: of a scalar or a constant always the same. */
struct ptx_operand nvptx_word(struct nvptx *n, const struct thread_operand *o, enum dtype t,
                              uint16_t i);
/* Returns the words of a value or a constant, as an instruction takes them: one register, or {…}. */
struct ptx_operand nvptx_all_words(struct nvptx *n, const struct thread_operand *o, enum dtype t);
struct ptx_operand nvptx_all_of(struct nvptx *n, const struct thread_value *v);
/* Returns [address] of an element in shared memory. */
struct ptx_operand nvptx_element(struct nvptx *n, const struct thread_operand *o);
static inline bool nvptx_is_half(enum dtype t)
{
    return t == DT_F16 || t == DT_BF16;
}
/* Guards an instruction by the `if` around its operation. */
void nvptx_guarded(struct nvptx *n, struct ptx_instruction *ins);
void nvptx_fail(struct nvptx *n, const struct thread_operation *op);

/* Emits any operation but those of control; nvptx_compute: one that computes values from values. */
void nvptx_act(struct nvptx *n, const struct thread_operation *op);
void nvptx_compute(struct nvptx *n, const struct thread_operation *op);
/* Puts the warp's number in its block into a register. */
void nvptx_warp(struct nvptx *n, struct ptx_operand to);

#endif
