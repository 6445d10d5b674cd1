/* The emitter, for its own files. */
#ifndef TW_NVPTX_OWN_H
#define TW_NVPTX_OWN_H

#include "nvptx/nvptx.h"
#include "nvptx/nvptx_print.h"
#include "nvptx/nvptx_scalars.h"

/* The registers of a value. */
struct nvptx_registers {
    uint16_t words;
    struct ptx_operand *word;
};

/* Addresses of element `index` of an array at 0, by the logarithm of an element's bytes. */
struct nvptx_places {
    unsigned sizes; /* a bit each */
    struct ptx_operand at[5];
    /* The operation that computes the index, if only these addresses are needed; NULL: the index is, too. */
    const struct thread_operation *from;
    int addend; /* the operand of that operation to whose address the others are added; -1: none */
    int64_t
        step; /* of an argument of a loop: elements that each iteration adds to the addresses, which alone are passed; 0: it is passed */
};

/* A file of the program: its number in the PTX. */
struct nvptx_file {
    const struct source *source;
    struct line_starts starts;
    uint32_t number;
};

/* A local array. */
struct nvptx_local {
    const struct thread_object *object;
    struct ptx_variable *variable;
};

struct nvptx_loop;

struct target_unit;

struct nvptx {
    struct arena *arena;
    struct diag *diag;
    const struct thread_function *function;
    struct ptx_builder build;
    struct nvptx_scalars scalars; /* of `build` */
    struct nvptx_printer printer; /* of `build` */
    struct nvptx_registers
        *registers;   /* by the number of a value, or of the one that it shares with */
    uint32_t *shares; /* by number: the value whose registers it has */
    const struct thread_operation **
        same; /* by number: the value's operation, if it has the words of its operands; NULL: it does not */
    bool *used;                          /* by number: an operation takes the value */
    struct ptx_operand memory;           /* address of shared memory */
    const struct ptx_instruction *apart; /* the latest that took a word of halves apart */
    unsigned used_apart;                 /* its elements that are values, a bit each */
    const struct target_unit *unit;      /* of the latest product */
    const char *product;                 /* its mnemonic */
    struct nvptx_places *
        *places;              /* by number of a value that is an index: where its elements are */
    struct ptx_operand guard; /* of the effects of an `if`; kind PTX_NOTHING: none */
    VEC(struct nvptx_local) locals;
    struct nvptx_loop *loop;               /* innermost */
    const struct thread_operation *branch; /* the `if` of this region */
    const struct thread_turn *turn;        /* of the latest operation; NULL: outside of loops */
    /* lines of the program, of a function with `lines` */
    VEC(struct nvptx_file) files;
    struct loc where; /* of the operation that is emitted */
    struct loc line;  /* the place that the latest instructions belong to */
    bool failed;
};

static inline bool nvptx_is_load(enum thread_opcode op)
{
    return op == THREAD_LOAD || op == THREAD_LOAD_CONST || op == THREAD_LOAD_SHARED ||
           op == THREAD_LOAD_LOCAL;
}
/* Returns the operand whose registers the result has to have, or should have, since it is added to; -1: none. */
int nvptx_added_to(enum thread_opcode op);
/* Finds the values that have the words of other values (`same`). nvptx_same.c */
void nvptx_find_same(struct nvptx *n);
/* Finds groups that can share registers. Requires `same`. */
void nvptx_share(struct nvptx *n);

/* --- nvptx_guard.c --- */

/* Returns whether the operation is many instructions. */
bool nvptx_is_long(enum thread_opcode op);
/* Returns whether the region can be done in line, its effects guarded: no thread is sent around a few instructions,
 * and the assembler schedules them with their neighbours. */
bool nvptx_can_guard(const struct nvptx *n, const struct thread_operation *op);
/* Returns the `yield` of a region that only gives values, of which some may be undefined; NULL: it does more. */
const struct thread_operation *nvptx_only_yield(const struct thread_region *r);
/* Returns the number of the arm that is done last, if both arms of an `if` only load and compute, and are done by predicates; -1:
 * they are branches. */
int nvptx_last_arm(const struct thread_function *f, const struct thread_operation *op);

/* --- nvptx_words.c --- */

/* Returns the elements that share a word in a group: 1, 2 or 4. */
uint16_t nvptx_per_word(enum dtype t);
uint16_t nvptx_words(struct thread_type type);
enum ptx_mod nvptx_word_type(enum dtype t);
/* Returns the type of the registers of a value; nvptx_word_type: of a word in a group. */
enum ptx_mod nvptx_register_type(struct thread_type t);
/* Returns an operand that is a scalar or a constant of type t. */
struct ptx_operand nvptx_scalar(struct nvptx *n, const struct thread_operand *o, enum dtype t);
/* Returns word `i` of an operand of a group's operation; a scalar or a constant fills it. */
struct ptx_operand nvptx_word(struct nvptx *n, const struct thread_operand *o, enum dtype t,
                              uint16_t i);
/* Returns the registers of a value; they are made when it is first asked for. */
const struct nvptx_registers *nvptx_registers_of(struct nvptx *n, const struct thread_value *v);
/* Returns `count` elements of an operand as scalars; those of a scalar or a constant are all the same. */
struct ptx_operand *nvptx_elements(struct nvptx *n, const struct thread_operand *o, enum dtype t,
                                   uint16_t count);
/* Makes word w of a group of its elements. */
struct ptx_operand nvptx_packed(struct nvptx *n, struct thread_type t,
                                const struct ptx_operand *elements, uint16_t w);
/* Makes the value of its elements, which are scalars. */
void nvptx_put(struct nvptx *n, const struct thread_value *v, const struct ptx_operand *elements);
/* Makes element i of a value, which was just computed; those that share a word with it are made with the last of
 * them. */
void nvptx_put_result(struct nvptx *n, const struct thread_value *v,
                      const struct ptx_operand *elements, uint16_t i);
/* Reports that the operation has no instruction. */
void nvptx_fail(struct nvptx *n, const struct thread_operation *op);
/* Guards an instruction by the `if` around its operation. */
void nvptx_guarded(struct nvptx *n, struct ptx_instruction *ins);
/* Emits a move. A constant predicate needs a comparison. */
void nvptx_set(struct nvptx *n, enum ptx_mod type, struct ptx_operand to, struct ptx_operand from);
/* Returns the latest instruction if it is not guarded, and no label follows it; else NULL. */
struct ptx_instruction *nvptx_latest(struct nvptx *n);
/* Gives a register the result of what was just emitted: the last instruction then writes it, if it can. */
void nvptx_set_result(struct nvptx *n, enum ptx_mod type, struct ptx_operand to,
                      struct ptx_operand result);
/* Gives a register a value. made: it is a constant, whose register, if any, nothing else reads. */
void nvptx_give(struct nvptx *n, enum ptx_mod type, struct ptx_operand to, struct ptx_operand from,
                bool made);

/* --- nvptx_places.c --- */

/* Returns [address] of an element in shared memory. */
struct ptx_operand nvptx_element(struct nvptx *n, const struct thread_operand *o);
/* Returns that address as a value, a u32. */
struct ptx_operand nvptx_element_address(struct nvptx *n, const struct thread_operand *o);
/* Finds the values of a thread- or tile-level kernel that are indices of elements. */
void nvptx_find_places(struct nvptx *n);
/* Returns whether only the addresses of the result are needed, for which nvptx_reach has the instructions. */
bool nvptx_is_place(const struct nvptx *n, const struct thread_operation *op);
/* Returns whether a loop passes addresses in place of the argument. */
bool nvptx_passes_places(const struct nvptx *n, const struct thread_value *argument);
/* Computes these addresses before the loop; steps them at the end of an iteration. */
void nvptx_enter_places(struct nvptx *n, const struct thread_operation *loop);
void nvptx_step_places(struct nvptx *n, const struct thread_operation *loop);
/* Computes the addresses of the elements whose indices are these values. */
void nvptx_reach(struct nvptx *n, struct thread_value *const *values, size_t count);
/* Returns the type that an instruction moves between memory and registers: that of words, or, of fewer bytes, of a part
 * of one, which extends a scalar in a .b32. */
enum ptx_mod nvptx_moved_type(struct thread_type t);

/* Marks that the instructions to come are of this turn; NULL: of the same as those before. nvptx_turns.c */
void nvptx_enter(struct nvptx *n, const struct thread_turn *turn);
/* Marks the next branch, which goes back in a loop. */
void nvptx_goes_back(struct nvptx *n, const struct thread_operation *loop);

/* Emits any operation but those of control; nvptx_compute: one that computes values from values. */
void nvptx_act(struct nvptx *n, const struct thread_operation *op);
void nvptx_compute(struct nvptx *n, const struct thread_operation *op);
/* Returns the bits of a constant of at most 16 bits. */
uint32_t nvptx_bits_of_constant(const struct thread_operand *o, enum dtype t);
/* Puts the address of a table, or of a local array, into a register. nvptx_table.c */
void nvptx_table(struct nvptx *n, const struct thread_operation *op);
void nvptx_local(struct nvptx *n, const struct thread_operation *op);
/* Emits an operation of a row for the host. nvptx_rows.c */
void nvptx_print(struct nvptx *n, const struct thread_operation *op);
/* nvptx_groups.c */
void nvptx_part(struct nvptx *n, const struct thread_operation *op);
void nvptx_join(struct nvptx *n, const struct thread_operation *op);
void nvptx_reduce(struct nvptx *n, const struct thread_operation *op);
/* Puts the warp's number in its block into a register. */
void nvptx_warp(struct nvptx *n, struct ptx_operand to);

#endif
