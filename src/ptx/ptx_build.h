/* Building PTX: the interface for a compiler's back end.
 *
 *     struct ptx_builder b;
 *     ptx_build_start(&b, arena, target);
 *     ptx_begin_kernel(&b, "scale");
 *     struct ptx_variable *x = ptx_parameter(&b, PTX_U64, "x");
 *     struct ptx_operand p = ptx_reg(&b, PTX_U64), v = ptx_reg(&b, PTX_F32);
 *     ptx_emit(&b, "ld.param.u64", p, ptx_at_variable(x, 0));
 *     ptx_emit(&b, "ld.global.f32", v, ptx_at(p, 16));
 *     ptx_emit(&b, "mul.rn.f32", v, v, ptx_f32(2));
 *     ptx_when(ptx_emit(&b, "st.global.f32", ptx_at(p, 16), v), inside);
 *     ptx_emit_plain(&b, "ret");
 *     ptx_end(&b);
 *     ptx_print(&text, b.module);
 *
 * An instruction has its PTX name. Each `*` in it is a type that is passed as a parameter:
 * ptx_emit_for(&b, PTX_TYPES(to, from), "cvt.rn.*.*", d, a). Builds with assertions check each
 * instruction when it is emitted. */
#ifndef TW_PTX_BUILD_H
#define TW_PTX_BUILD_H

#include "ptx/ptx.h"
#include "ptx/ptx_index.h"

enum { PTX_REGISTER_CLASSES = 8 };

enum { PTX_RECENT = 32 };

struct ptx_builder {
    struct arena *arena;
    struct ptx_module *module;
    struct ptx_function *function; /* being built */
    /* the rest is private to the builder */
    struct ptx_index index;
    struct name_table mnemonics;
    struct name_entry recent[PTX_RECENT];    /* of these, by where their texts are */
    VEC(struct ptx_statement) head;          /* declarations at the start of the body */
    uint32_t range_of[PTX_REGISTER_CLASSES]; /* index + 1; 0: none yet */
    struct ptx_line next_line;
    const struct ptx_line *line;
    bool line_changed;
    uint32_t labels, files;
    const char *complaint;
};

/* Makes a new, empty module in b->module. */
void ptx_build_start(struct ptx_builder *b, struct arena *a, struct ptx_target target);

/* --- functions --- */

void ptx_begin_kernel(struct ptx_builder *b, const char *name);
/* Adds the next parameter. size: the bytes of a .b8 array, for a value passed by copy; 0: the
 * parameter is one value of `type`. */
struct ptx_variable *ptx_parameter(struct ptx_builder *b, enum ptx_mod type, const char *name);
struct ptx_variable *ptx_parameter_bytes(struct ptx_builder *b, const char *name, uint64_t size,
                                         uint32_t alignment);
/* Adds a limit such as .maxntid x, y, z; it has `count` values. */
void ptx_limit(struct ptx_builder *b, enum ptx_directive directive, uint32_t count, uint32_t x,
               uint32_t y, uint32_t z);
/* Ends the function: moves its declarations to its beginning and renumbers its registers by
 * type. Operands made for it are then invalid. */
void ptx_end(struct ptx_builder *b);

/* --- memory --- */

/* Adds an array of `count` elements in .shared or .local of the function. */
struct ptx_variable *ptx_array(struct ptx_builder *b, enum ptx_mod space, enum ptx_mod type,
                               const char *name, uint64_t count, uint32_t alignment);
/* Adds .extern .shared .b8 name[]: the shared memory whose size the launch gives. */
struct ptx_variable *ptx_dynamic_shared(struct ptx_builder *b, const char *name,
                                        uint32_t alignment);
/* Adds bytes in .global or .const of the module; data NULL: zeros. */
struct ptx_variable *ptx_bytes(struct ptx_builder *b, enum ptx_mod space, const char *name,
                               const uint8_t *data, uint64_t size, uint32_t alignment);

/* --- operands --- */

/* Makes a register for a value of this type; packed values have type .b16 or .b32. */
struct ptx_operand ptx_reg(struct ptx_builder *b, enum ptx_mod type);
/* Takes a register back that no instruction uses, if no other was made after it. */
void ptx_release(struct ptx_builder *b, struct ptx_operand r);
struct ptx_operand ptx_vector(struct ptx_builder *b, const struct ptx_operand *elements,
                              size_t count);
/* [map, {coordinates}] */
struct ptx_operand ptx_at_tensor(struct ptx_builder *b, struct ptx_operand map,
                                 const struct ptx_operand *coordinates, size_t count);

static inline struct ptx_operand ptx_int(int64_t value)
{
    return (struct ptx_operand){.kind = PTX_IMMEDIATE, .bits = (uint64_t)value};
}
struct ptx_operand ptx_f32(float value);
struct ptx_operand ptx_f64(double value);
static inline struct ptx_operand ptx_special(enum ptx_special special)
{
    return (struct ptx_operand){.kind = PTX_SPECIAL, .special = (uint16_t)special};
}
static inline struct ptx_operand ptx_sink(void)
{
    return (struct ptx_operand){.kind = PTX_SINK};
}
/* [reg + offset] */
static inline struct ptx_operand ptx_at(struct ptx_operand reg, int64_t offset)
{
    return (struct ptx_operand){
        .kind = PTX_ADDRESS, .base = PTX_BASE_REGISTER, .reg = reg.reg, .bytes = offset};
}
/* [variable + offset] */
static inline struct ptx_operand ptx_at_variable(struct ptx_variable *variable, int64_t offset)
{
    struct ptx_operand o = {.kind = PTX_ADDRESS, .base = PTX_BASE_VARIABLE, .variable = variable};
    ptx_set_offset(&o, offset);
    return o;
}
/* Makes the address of a variable, plus an offset, as a value. */
static inline struct ptx_operand ptx_address_of(struct ptx_variable *variable, int64_t offset)
{
    struct ptx_operand o = ptx_at_variable(variable, offset);
    o.kind = PTX_SYMBOL;
    return o;
}
/* !p */
static inline struct ptx_operand ptx_not(struct ptx_operand predicate)
{
    predicate.negated = !predicate.negated;
    return predicate;
}
/* Makes the second of two destinations: d|p. */
static inline struct ptx_operand ptx_and_also(struct ptx_operand second)
{
    second.joined = true;
    return second;
}

/* --- instructions --- */

#define PTX_TYPES(...) ((const uint16_t[]){__VA_ARGS__})
#define PTX_OPERANDS(...)                                                                          \
    (const struct ptx_operand[]){__VA_ARGS__},                                                     \
        sizeof((const struct ptx_operand[]){__VA_ARGS__}) / sizeof(struct ptx_operand)
#define ptx_emit(b, mnemonic, ...) ptx_emit_list((b), (mnemonic), NULL, PTX_OPERANDS(__VA_ARGS__))
#define ptx_emit_for(b, types, mnemonic, ...)                                                      \
    ptx_emit_list((b), (mnemonic), (types), PTX_OPERANDS(__VA_ARGS__))
#define ptx_emit_plain(b, mnemonic) ptx_emit_list((b), (mnemonic), NULL, NULL, 0)
/* Emits an instruction. mnemonic: outlives the builder, or equals a string that does. types: one
 * for each `*` in it. */
struct ptx_instruction *ptx_emit_list(struct ptx_builder *b, const char *mnemonic,
                                      const uint16_t *types, const struct ptx_operand *operands,
                                      size_t count);

/* Guards the instruction: it executes only if the predicate (or !p) holds. */
struct ptx_instruction *ptx_when(struct ptx_instruction *ins, struct ptx_operand predicate);

/* --- control flow --- */

/* Makes a label of this function: "$name_7". */
struct ptx_label *ptx_new_label(struct ptx_builder *b, const char *name);
void ptx_place(struct ptx_builder *b, struct ptx_label *label);
struct ptx_instruction *ptx_branch(struct ptx_builder *b, struct ptx_label *label);

/* Marks the place before the next instruction. After ptx_end, function->marks has it. */
void ptx_mark(struct ptx_builder *b, enum ptx_mark_kind kind, const void *loop, int copy);

/* --- source lines --- */

/* Adds a source file. Returns its number. */
uint32_t ptx_source_file(struct ptx_builder *b, const char *name);
/* Sets the source line of the instructions that follow. file 0: they have none. */
void ptx_source_line(struct ptx_builder *b, uint32_t file, uint32_t line, uint32_t column);

#endif
