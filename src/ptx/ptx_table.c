/* Expands the tables. The macros implement the notation that ptx_instructions.def explains. */
#include "ptx/ptx_table.h"

#include <stdio.h>
#include <string.h>

const struct ptx_mod_info ptx_mods[MOD_COUNT] = {
#define MOD(id, text, class, bits, version, target)                                                \
    [MOD_##id] = {text, PTX_CLASS_##class, version, target, bits},
#include "ptx/ptx_modifiers.def"
#undef MOD
};

/* Modifiers without a prefix, for the rows of the instructions. */
enum {
#define MOD(id, text, class, bits, version, target) id = MOD_##id,
#include "ptx/ptx_modifiers.def"
#undef MOD
    SAME0 = MOD_SAME0
};

/* --- the notation --- */

enum {
    SM90A = PTX_OWN + PTX_A90,
    SM10X = PTX_OWN + PTX_A100 + PTX_A103 + PTX_FAMILY,
    SM12X = PTX_OWN + PTX_A120 + PTX_A121 + PTX_FAMILY,
    SM103A = PTX_OWN + PTX_A103,
    SM103X_11X = PTX_OWN + PTX_A103 + PTX_A110 + PTX_FAMILY,
    SM100A_103A = PTX_OWN + PTX_A100 + PTX_A103,
    SM100A_110A = PTX_OWN + PTX_A100 + PTX_A110,
    SM10X_11X = SM10X + PTX_A110,
    SM10X_11X_12X = SM10X + PTX_A110 + PTX_A120 + PTX_A121,
    SM90A_10X_11X_12X = SM10X_11X_12X + PTX_A90
};

#define LENGTH(type, ...) (sizeof((const type[]){__VA_ARGS__}) / sizeof(type))
#define ONE(...) PTX_ONE + LENGTH(uint16_t, __VA_ARGS__), __VA_ARGS__
#define OPT(...) PTX_OPTIONAL + LENGTH(uint16_t, __VA_ARGS__), __VA_ARGS__
/* Groups and operands of a form, after the rest of its initialiser. */
#define MODS(...)                                                                                  \
    , .groups = (const uint16_t[]){__VA_ARGS__}, .words = LENGTH(uint16_t, __VA_ARGS__)
#define ARGS(...)                                                                                  \
    , .slot = (const struct ptx_slot[]){__VA_ARGS__}, .slots = LENGTH(struct ptx_slot, __VA_ARGS__)
#define NOTHING

enum { T0 = TYPE_NTH, T1, T2, WIDE0 = TYPE_WIDE, ADDRESS = TYPE_ADDRESS, COPY = TYPE_COPY };
#define SLOT(k, ...)                                                                               \
    {                                                                                              \
        .kind = SLOT_##k, __VA_ARGS__                                                              \
    }
#define D(t) SLOT(DESTINATION, .type = t, .flags = SLOT_WRITTEN)
#define DV(t) SLOT(DESTINATION, .type = t, .flags = SLOT_WRITTEN | SLOT_VECTORIAL | SLOT_MAY_SINK)
#define DW(t) SLOT(DESTINATION, .type = t, .flags = SLOT_WRITTEN | SLOT_WIDER)
#define DVW(t)                                                                                     \
    SLOT(DESTINATION, .type = t,                                                                   \
         .flags = SLOT_WRITTEN | SLOT_WIDER | SLOT_VECTORIAL | SLOT_MAY_SINK)
#define DS(t) SLOT(DESTINATION, .type = t, .flags = SLOT_WRITTEN | SLOT_MAY_SINK)
#define J(t) SLOT(DESTINATION, .type = t, .flags = SLOT_WRITTEN | SLOT_JOINED | SLOT_MAY_SINK)
#define OJ(t)                                                                                      \
    SLOT(DESTINATION, .type = t,                                                                   \
         .flags = SLOT_WRITTEN | SLOT_JOINED | SLOT_MAY_SINK | SLOT_OPTIONAL)
#define SINK SLOT(SINK, .flags = SLOT_WRITTEN)
#define S(t) SLOT(SOURCE, .type = t)
#define OS(t) SLOT(SOURCE, .type = t, .flags = SLOT_OPTIONAL)
#define R(t) SLOT(SOURCE, .type = t, .flags = SLOT_NO_CONSTANT)
#define RV(t) SLOT(SOURCE, .type = t, .flags = SLOT_NO_CONSTANT | SLOT_VECTORIAL)
#define SIZE SLOT(SOURCE, .type = MOD_U32, .step = 16)
#define THREADS SLOT(SOURCE, .type = MOD_U32, .step = 32)
#define OTHREADS SLOT(SOURCE, .type = MOD_U32, .step = 32, .flags = SLOT_OPTIONAL)
#define SV(t) SLOT(SOURCE, .type = t, .flags = SLOT_VECTORIAL)
#define SW(t) SLOT(SOURCE, .type = t, .flags = SLOT_WIDER)
#define SVW(t) SLOT(SOURCE, .type = t, .flags = SLOT_VECTORIAL | SLOT_WIDER)
#define P SLOT(PREDICATE, .type = MOD_PRED)
#define A(n, t) SLOT(ADDRESS, .space = n, .type = BYTES_##t)
#define AS(s, t) SLOT(ADDRESS, .space = MOD_##s, .type = BYTES_##t, .flags = SLOT_FIXED_SPACE)
enum {
    BYTES_T0 = T0,
    BYTES_COPY = COPY,
    BYTES_1 = TYPE_BYTES + 1,
    BYTES_8 = TYPE_BYTES + 8,
    BYTES_16 = TYPE_BYTES + 16,
    BYTES_128 = TYPE_BYTES + 128
};
#define TENSOR SLOT(TENSOR, .type = MOD_U64)
#define TENSOR_MEMORY SLOT(TENSOR_MEMORY, .type = MOD_B32)
#define OFFSETS SLOT(OFFSETS, .type = MOD_U16)
#define LANES SLOT(LANES, .type = MOD_B32)
#define I(a, b) SLOT(IMMEDIATE, .low = a, .high = b, .step = 1)
#define OI(a, b) SLOT(IMMEDIATE, .low = a, .high = b, .step = 1, .flags = SLOT_OPTIONAL)
#define STEPS(a, b, by) SLOT(IMMEDIATE, .low = a, .high = b, .step = by)
#define COPY_BYTES SLOT(IMMEDIATE, .low = 4, .high = 16, .step = 0) /* 4, 8, 16 */
#define V(n, t) SLOT(VECTOR, .type = t, .low = n)
enum {
    ROLE_a = 'a',
    ROLE_b = 'b',
    ROLE_c = 'c',
    ROLE_d = 'd',
    ROLE_r = 'r',
    ROLE_t = 't',
    ROLE_w = 'w'
};
#define FRAGMENT(x) SLOT(FRAGMENT, .type = MOD_B32, .low = ROLE_##x)
#define FRAGMENT_OUT(x)                                                                            \
    SLOT(FRAGMENT, .type = MOD_B32, .low = ROLE_##x, .flags = SLOT_WRITTEN | SLOT_MAY_SINK)
#define FRAGMENT_INOUT(x)                                                                          \
    SLOT(FRAGMENT, .type = MOD_B32, .low = ROLE_##x, .flags = SLOT_WRITTEN | SLOT_READ)
#define MOVED(t) SLOT(MOVED, .type = t)
#define SYMBOL(t) SLOT(SYMBOL, .type = t)
#define PACK(t) SLOT(PACK, .type = t)
#define UNPACK(t) SLOT(PACK, .type = t, .flags = SLOT_WRITTEN | SLOT_MAY_SINK)
#define BARRIER SLOT(BARRIER, .type = MOD_U32)
#define LABEL SLOT(LABEL, .type = MOD_NONE)
#define TARGETS SLOT(TARGETS, .type = MOD_NONE)
#define CALLED SLOT(CALL, .type = MOD_NONE)
#define WITH(mod, t) SLOT(SOURCE, .type = MOD_##t, .when = MOD_##mod)
#define POLICY WITH(L2_CACHE_HINT, U64)
#define MULTICAST WITH(MULTICAST_CLUSTER, U16)

const struct ptx_form ptx_forms[] = {
#define OP(id, name, what)
#define FORM(id, anchor, first_version, first_target, modifiers, operands)                         \
    {.op = PTX_##id, .version = first_version, .target = first_target modifiers operands},
#include "ptx/ptx_instructions.def"
#undef OP
#undef FORM
};
const size_t ptx_form_count = sizeof ptx_forms / sizeof *ptx_forms;

const struct ptx_op_info ptx_ops[PTX_OP_COUNT] = {
#define OP(id, name, what) [PTX_##id] = {name},
#define FORM(...)
#include "ptx/ptx_instructions.def"
#undef OP
#undef FORM
};

const struct ptx_special_info ptx_specials[PTX_SPECIAL_COUNT] = {
#define SPECIAL(id, name, type, version, target, what)                                             \
    [PTX_SREG_##id] = {name, MOD_##type, version, target},
#include "ptx/ptx_special.def"
#undef SPECIAL
};

const struct ptx_target_info ptx_targets[] = {
#define TARGET(number, suffix, version) {{number, suffix}, version},
#include "ptx/ptx_targets.def"
#undef TARGET
};
const size_t ptx_target_count = sizeof ptx_targets / sizeof *ptx_targets;

/* --- what is left out --- */

static const char *const textures[] = {"tex",  "tld4",  "txq", "istypep", "suld",
                                       "sust", "sured", "suq", NULL};
static const char *const videos[] = {"vadd", "vsub", "vabsdiff", "vmin", "vmax",
                                     "vshl", "vshr", "vmad",     "vset", NULL};
const struct ptx_left_out ptx_left_out[] = {{"textures and surfaces", textures},
                                            {"scalar video instructions", videos}};
const size_t ptx_left_out_count = sizeof ptx_left_out / sizeof *ptx_left_out;

const struct ptx_left_out *ptx_left_out_find(const char *text, size_t length)
{
    for (size_t i = 0; i < ptx_left_out_count; i++)
        for (const char *const *name = ptx_left_out[i].names; *name; name++)
            if (strlen(*name) == length && memcmp(*name, text, length) == 0)
                return &ptx_left_out[i];
    return NULL;
}
