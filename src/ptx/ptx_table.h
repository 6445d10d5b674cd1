/* The tables of PTX as enums and rows: modifiers, instructions, special registers, targets. */
#ifndef TW_PTX_TABLE_H
#define TW_PTX_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- modifiers, types first --- */

enum ptx_mod {
    MOD_NONE,
#define MOD(id, text, class, bits, version, target) MOD_##id,
#include "ptx/ptx_modifiers.def"
#undef MOD
    MOD_COUNT,
    MOD_SAME0 = MOD_COUNT, /* in a form: the first type, repeated */

/* Types under their own names: PTX_F32 is MOD_F32. */
#define PTX_TYPE(id) PTX_##id = MOD_##id
    PTX_TYPE(PRED),
    PTX_TYPE(B8),
    PTX_TYPE(B16),
    PTX_TYPE(B32),
    PTX_TYPE(B64),
    PTX_TYPE(B128),
    PTX_TYPE(U8),
    PTX_TYPE(U16),
    PTX_TYPE(U32),
    PTX_TYPE(U64),
    PTX_TYPE(S8),
    PTX_TYPE(S16),
    PTX_TYPE(S32),
    PTX_TYPE(S64),
    PTX_TYPE(F16),
    PTX_TYPE(F32),
    PTX_TYPE(F64),
    PTX_TYPE(BF16),
    PTX_TYPE(TF32),
    PTX_TYPE(F16X2),
    PTX_TYPE(BF16X2),
    PTX_TYPE(F32X2)
#undef PTX_TYPE
};

enum ptx_class {
    PTX_CLASS_NONE,
    /* types */
    PTX_CLASS_PREDICATE,
    PTX_CLASS_BITS,
    PTX_CLASS_UNSIGNED,
    PTX_CLASS_SIGNED,
    PTX_CLASS_FLOAT,
    PTX_CLASS_PACKED,  /* held in a .b register */
    PTX_CLASS_ELEMENT, /* a matrix's element; never a register's type */
    /* the rest */
    PTX_CLASS_ROUNDING,
    PTX_CLASS_NUMERIC,
    PTX_CLASS_COMPARE,
    PTX_CLASS_OPERATION,
    PTX_CLASS_MODE,
    PTX_CLASS_SPACE,
    PTX_CLASS_ORDER,
    PTX_CLASS_SCOPE,
    PTX_CLASS_PROXY,
    PTX_CLASS_CACHE,
    PTX_CLASS_VECTOR,
    PTX_CLASS_CONTROL,
    PTX_CLASS_COMPLETION,
    PTX_CLASS_DIMENSION,
    PTX_CLASS_LOAD_MODE,
    PTX_CLASS_MAP_FIELD,
    PTX_CLASS_LAYOUT,
    PTX_CLASS_COUNT,
    PTX_CLASS_SPARSE,
    PTX_CLASS_KIND,
    PTX_CLASS_FORMAT,
    PTX_CLASS_SHAPE
};

struct ptx_mod_info {
    const char *text;
    uint8_t class;
    uint8_t version; /* times ten; 0: any */
    uint8_t target;
    uint16_t bits; /* of a type; a vector's length, dimensions, … */
};
extern const struct ptx_mod_info ptx_mods[MOD_COUNT];

static inline bool ptx_is_type(enum ptx_mod m)
{
    return m > MOD_NONE && m < MOD_COUNT && ptx_mods[m].class <= PTX_CLASS_ELEMENT;
}

/* ptx_vector_exists returns true if the type has vectors of this many elements; predicates have
 * none. PTX ISA, vectors. */
enum { PTX_MOST_VECTOR_BITS = 128 };
bool ptx_vector_exists(enum ptx_mod type, uint32_t count);
/* Gives m, n and k of a matrix shape, "m16n8k16" (k is 0 if the text has none). Returns false
 * for other modifiers. */
bool ptx_shape(enum ptx_mod shape, int *m, int *n, int *k);

/* --- targets --- */

struct ptx_target {
    uint8_t number; /* 80 */
    char suffix;    /* 0, 'a', 'f' */
};
struct ptx_target_info {
    struct ptx_target target;
    uint8_t version;
};
extern const struct ptx_target_info ptx_targets[];
extern const size_t ptx_target_count;
/* Returns the row of a target, NULL if there is none. */
const struct ptx_target_info *ptx_target_find(struct ptx_target target);
/* Reads a target such as "sm_90a". Returns false if there is no such target. */
bool ptx_target_parse(const char *text, size_t length, struct ptx_target *target);

/* Sets of architectures that have instructions of their own. The target of a form is then
 * PTX_OWN + these bits. */
enum {
    PTX_OWN = 0x100,
    PTX_A90 = 1,
    PTX_A100 = 2,
    PTX_A103 = 4,
    PTX_A110 = 8, /* also sm_101 of PTX 8 */
    PTX_A120 = 16,
    PTX_A121 = 32,
    PTX_FAMILY = 64 /* also their 'f' targets */
};
/* Returns true if the target meets the `need` of a form or a modifier. */
bool ptx_target_has(struct ptx_target target, unsigned need);
/* Writes the need of a form for messages and pages: "sm_80", "sm_90a" or "sm_100a, sm_103a".
 * Writes at most `size` bytes. */
void ptx_target_name(unsigned need, char *text, size_t size);

/* --- instructions --- */

enum ptx_op {
#define OP(id, name, what) PTX_##id,
#define FORM(...)
#include "ptx/ptx_instructions.def"
#undef OP
#undef FORM
    PTX_OP_COUNT
};

/* A set of modifiers of which an instruction has one or, if the group is optional, at most one.
 * In the table a group is a word with this flag and the number of modifiers, then the modifiers.
 * The table has thousands of groups; pointers to them would take ten times the space, above all
 * in relocations. */
struct ptx_group {
    const uint16_t *mods;
    uint8_t count;
    bool optional;
};
enum { PTX_ONE = 0x4000, PTX_OPTIONAL = 0x8000 };

enum ptx_slot_kind {
    SLOT_DESTINATION,
    SLOT_SOURCE,    /* a constant is a multiple of `step`, unless that is 0 */
    SLOT_PREDICATE, /* source, may be negated */
    SLOT_ADDRESS,
    SLOT_TENSOR,        /* [map, {coordinates}] */
    SLOT_TENSOR_MEMORY, /* [taddr] */
    SLOT_IMMEDIATE,
    SLOT_VECTOR,   /* source vector of `low` registers */
    SLOT_OFFSETS,  /* extra operand of an im2col copy */
    SLOT_LANES,    /* vector of masks: 4 for 1 block, 8 for 2 */
    SLOT_FRAGMENT, /* registers of matrix `low` */
    SLOT_MOVED,    /* source of mov: also special registers and addresses */
    SLOT_SYMBOL,   /* register, or address of a variable */
    SLOT_PACK,     /* vector that makes up the type */
    SLOT_SINK,     /* only `_` */
    SLOT_BARRIER,  /* register, or 0 to 15 */
    SLOT_LABEL,
    SLOT_TARGETS,
    SLOT_CALL
};
enum ptx_slot_flags {
    SLOT_OPTIONAL = 1,
    SLOT_WRITTEN = 2,
    SLOT_READ = 4,       /* and written */
    SLOT_JOINED = 8,     /* after `|` */
    SLOT_MAY_SINK = 16,  /* may be `_` */
    SLOT_VECTORIAL = 32, /* a vector if a modifier makes it one */
    SLOT_WIDER = 64,     /* the register may be wider than the type */
    SLOT_NO_CONSTANT = 256,
    SLOT_FIXED_SPACE = 128 /* `space` is a state space, not the index of one of the modifiers */
};
/* Types of a slot beyond those of enum ptx_mod. */
enum {
    TYPE_NTH = 0x1000,  /* + n: the n-th type of the modifiers */
    TYPE_WIDE = 0x1100, /* twice as wide as the first type */
    TYPE_ADDRESS,       /* an integer as wide as an address: 32 or 64 bits */
    TYPE_COPY,          /* at an address: the constant operand's number of bytes */
    TYPE_BYTES = 0x2000 /* + n: at an address: n bytes */
};
struct ptx_slot {
    uint8_t kind;
    uint8_t space;
    uint16_t flags;
    uint16_t type;
    uint16_t when;           /* needs this modifier; MOD_NONE: none */
    int16_t low, high, step; /* range of a constant; see the kinds */
};

struct ptx_form {
    uint16_t op;
    uint16_t version, target;
    uint8_t words, slots;   /* lengths of the arrays */
    const uint16_t *groups; /* see struct ptx_group */
    const struct ptx_slot *slot;
};

/* Returns the group whose first word this is; its mods are NULL past the last group. */
static inline struct ptx_group ptx_group_here(const struct ptx_form *form, const uint16_t *word)
{
    if (word == form->groups + form->words)
        return (struct ptx_group){NULL, 0, false};
    return (struct ptx_group){word + 1, (uint8_t)*word, (*word & PTX_OPTIONAL) != 0};
}
/* Returns whether the group has the modifier; first_type: the meaning of MOD_SAME0. ptx_lookup.c */
bool ptx_group_has(const struct ptx_group *group, uint16_t mod, uint16_t first_type);
static inline struct ptx_group ptx_first_group(const struct ptx_form *form)
{
    return ptx_group_here(form, form->groups);
}
static inline struct ptx_group ptx_next_group(const struct ptx_form *form, struct ptx_group g)
{
    return ptx_group_here(form, g.mods + g.count);
}
size_t ptx_group_count(const struct ptx_form *form);
struct ptx_group ptx_group_at(const struct ptx_form *form, size_t index);

struct ptx_op_info {
    const char *name;
};
extern const struct ptx_op_info ptx_ops[PTX_OP_COUNT];
extern const struct ptx_form ptx_forms[]; /* in the order of their instructions */
extern const size_t ptx_form_count;
/* Returns the forms of an instruction. */
const struct ptx_form *ptx_forms_of(enum ptx_op op, size_t *count);
enum { PTX_MOST_MODS = 16, PTX_NO_FORM = 0xffff };

/* Returns true if the form takes these modifiers in this order. If `order` is not NULL, also
 * allows other orders (see ptx_mod_overtakes) and writes the modifiers in the form's order to
 * it. */
bool ptx_form_takes(const struct ptx_form *form, const uint16_t *mods, size_t count,
                    uint16_t *order);

/* Returns true if mods[i] must wait because an earlier modifier of its kind is not used yet.
 * Types, state spaces and layouts keep their order among themselves. */
bool ptx_mod_overtakes(const uint16_t *mods, const bool *used, size_t i);
/* ptx_choice_version returns the lowest version of PTX (times ten) that has this choice of the
 * form's modifiers; a target may need a later one. ptx_choice_has returns true if the target
 * has it all. */
int ptx_choice_version(const struct ptx_form *form, const uint16_t *mods, size_t count);
bool ptx_choice_has(const struct ptx_form *form, const uint16_t *mods, size_t count,
                    struct ptx_target target);

/* Families of PTX instructions that the table leaves out for all targets, for messages and
 * pages. */
struct ptx_left_out {
    const char *family;       /* "textures and surfaces" */
    const char *const *names; /* first words, up to NULL */
};
extern const struct ptx_left_out ptx_left_out[];
extern const size_t ptx_left_out_count;
/* Returns the family of an instruction that starts with this word; NULL if it belongs to none. */
const struct ptx_left_out *ptx_left_out_find(const char *text, size_t length);

/* --- special registers --- */

enum ptx_special {
#define SPECIAL(id, name, type, version, target, what) PTX_SREG_##id,
#include "ptx/ptx_special.def"
#undef SPECIAL
    PTX_SPECIAL_COUNT
};
struct ptx_special_info {
    const char *name; /* "%tid.x" */
    uint16_t type;
    uint8_t version, target;
};
extern const struct ptx_special_info ptx_specials[PTX_SPECIAL_COUNT];

#endif
