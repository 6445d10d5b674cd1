/* Making PTX: the interface for a compiler's back end.
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
 * An instruction is named as in PTX; `*` stands for a type given besides: ptx_emit_for(&b,
 * PTX_TYPES(to, from), "cvt.rn.*.*", d, a). Builds with assertions check each instruction where it
 * is emitted.
 */
#ifndef TW_PTX_BUILD_H
#define TW_PTX_BUILD_H

#include "ptx/ptx.h"
#include "ptx/ptx_index.h"

enum { PTX_REGISTER_CLASSES = 8 };

struct ptx_code;

struct ptx_builder {
    struct arena *arena;
    struct ptx_module *module;
    struct ptx_function *function; /* being built */
    /* the rest is the builder's own */
    struct ptx_index index;
    struct name_table mnemonics;
    VEC(struct ptx_statement) head;          /* declarations at the start of the body */
    struct ptx_code *code;                   /* where statements go; NULL: the body */
    uint32_t range_of[PTX_REGISTER_CLASSES]; /* + 1; 0: none yet */
    struct ptx_line next_line;
    const struct ptx_line *line;
    bool line_changed;
    uint32_t labels, files;
    const char *complaint;
};

/* A new, empty module in b->module. */
void ptx_build_start(struct ptx_builder *b, struct arena *a, struct ptx_target target);

/* --- functions --- */

void ptx_begin_kernel(struct ptx_builder *b, const char *name);
/* A parameter, in order. size: bytes of a .b8 array, for what is passed by value; 0: it is one of
 * `type`. */
struct ptx_variable *ptx_parameter(struct ptx_builder *b, enum ptx_mod type, const char *name);
struct ptx_variable *ptx_parameter_bytes(struct ptx_builder *b, const char *name, uint64_t size,
                                         uint32_t alignment);
/* .maxntid x, y, z and the like: as many values as `count`. */
void ptx_limit(struct ptx_builder *b, enum ptx_directive directive, uint32_t count, uint32_t x,
               uint32_t y, uint32_t z);
/* Ends the function: puts its declarations in front and numbers its registers anew, by type.
 * Operands made for it are of no use afterwards. */
void ptx_end(struct ptx_builder *b);

/* --- memory --- */

/* An array of `count` elements in .shared or .local of the function. */
struct ptx_variable *ptx_array(struct ptx_builder *b, enum ptx_mod space, enum ptx_mod type,
                               const char *name, uint64_t count, uint32_t alignment);
/* .extern .shared .b8 name[]: the shared memory that the launch asks for. */
struct ptx_variable *ptx_dynamic_shared(struct ptx_builder *b, const char *name,
                                        uint32_t alignment);
/* Bytes in .global or .const of the module; data NULL: zeros. */
struct ptx_variable *ptx_bytes(struct ptx_builder *b, enum ptx_mod space, const char *name,
                               const uint8_t *data, uint64_t size, uint32_t alignment);

/* --- operands --- */

/* A new register that holds a value of this type: .b16 and .b32 for what is packed. */
struct ptx_operand ptx_reg(struct ptx_builder *b, enum ptx_mod type);
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
        .kind = PTX_ADDRESS, .base = PTX_BASE_REGISTER, .reg = reg.reg, .offset = offset};
}
/* [variable + offset] */
static inline struct ptx_operand ptx_at_variable(struct ptx_variable *variable, int64_t offset)
{
    return (struct ptx_operand){
        .kind = PTX_ADDRESS, .base = PTX_BASE_VARIABLE, .variable = variable, .offset = offset};
}
/* The address of a variable, plus an offset, as a value. */
static inline struct ptx_operand ptx_address_of(struct ptx_variable *variable, int64_t offset)
{
    return (struct ptx_operand){
        .kind = PTX_SYMBOL, .base = PTX_BASE_VARIABLE, .variable = variable, .offset = offset};
}
/* !p */
static inline struct ptx_operand ptx_not(struct ptx_operand predicate)
{
    predicate.negated = !predicate.negated;
    return predicate;
}
/* d|p: the second of two destinations. */
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
/* mnemonic: outlives the builder, or is equal to one that does. types: one for each `*` in it. */
struct ptx_instruction *ptx_emit_list(struct ptx_builder *b, const char *mnemonic,
                                      const uint16_t *types, const struct ptx_operand *operands,
                                      size_t count);

/* Executes the instruction only where the predicate (or !p) holds. */
struct ptx_instruction *ptx_when(struct ptx_instruction *ins, struct ptx_operand predicate);

/* --- control flow --- */

/* A label of this function: "$name_7". */
struct ptx_label *ptx_new_label(struct ptx_builder *b, const char *name);
void ptx_place(struct ptx_builder *b, struct ptx_label *label);
struct ptx_instruction *ptx_branch(struct ptx_builder *b, struct ptx_label *label);
/* .pragma, such as "nounroll" in front of a loop's label. */
void ptx_pragma(struct ptx_builder *b, const char *text);

/* Marks the place before the instruction that comes next here: after ptx_end, function->marks has it. */
void ptx_mark(struct ptx_builder *b, const void *what);

/* --- pieces of code, put together out of order --- */

struct ptx_code {
    VEC(struct ptx_statement) statements;
};
/* What is emitted from now on is appended to `to`; gives what was appended to until now, for going
 * back. NULL: the function's body itself. Each piece starts with its own .loc. */
struct ptx_code *ptx_divert(struct ptx_builder *b, struct ptx_code *to);
/* Appends a piece where statements are appended now; the piece is then empty. */
void ptx_append(struct ptx_builder *b, struct ptx_code *code);

/* --- source lines --- */

/* A source file; gives its number. */
uint32_t ptx_source_file(struct ptx_builder *b, const char *name);
/* The instructions to come are from there. file 0: from nowhere in particular. */
void ptx_source_line(struct ptx_builder *b, uint32_t file, uint32_t line, uint32_t column);

#endif
