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
    MOD_SAME0 = MOD_COUNT, /* in a form: the first type once more */

/* Types by themselves: PTX_F32 is MOD_F32. */
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
    PTX_CLASS_ELEMENT, /* of a matrix: no register has this type */
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
    uint16_t bits; /* of a type; length of a vector, number of dimensions, … */
};
extern const struct ptx_mod_info ptx_mods[MOD_COUNT];

static inline bool ptx_is_type(enum ptx_mod m)
{
    return m > MOD_NONE && m < MOD_COUNT && ptx_mods[m].class <= PTX_CLASS_ELEMENT;
}

/* PTX ISA, vectors: are there any of so many elements of the type? Not of predicates. */
enum { PTX_MOST_VECTOR_BITS = 128 };
bool ptx_vector_exists(enum ptx_mod type, uint32_t count);
/* Matrix shapes: m, n, k of "m16n8k16" (k 0 where the text has none); false for other modifiers. */
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
/* The row of a target, NULL if there is none. */
const struct ptx_target_info *ptx_target_find(struct ptx_target target);
/* "sm_90a"; false if there is no such target. */
bool ptx_target_parse(const char *text, size_t length, struct ptx_target *target);

/* Sets of architectures with instructions of their own, as the target of a form: PTX_OWN + bits. */
enum {
    PTX_OWN = 0x100,
    PTX_A90 = 1,
    PTX_A100 = 2,
    PTX_A103 = 4,
    PTX_A110 = 8, /* sm_101 of PTX 8 too */
    PTX_A120 = 16,
    PTX_A121 = 32,
    PTX_FAMILY = 64 /* the 'f' targets of these too */
};
/* Has the target what a form's (or modifier's) `need` says? */
bool ptx_target_has(struct ptx_target target, unsigned need);
/* "sm_80" or "sm_90a" or "sm_100a, sm_103a": what a form needs, for messages and pages. Writes at
 * most `size` bytes. */
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

/* One modifier of these is there, or, if optional, none. In the table a group is a word that says
 * so and how many, then the modifiers: there are thousands, and a pointer to each would cost a
 * library ten times as much, in relocations above all. */
struct ptx_group {
    const uint16_t *mods;
    uint8_t count;
    bool optional;
};
enum { PTX_ONE = 0x4000, PTX_OPTIONAL = 0x8000 };

enum ptx_slot_kind {
    SLOT_DESTINATION,
    SLOT_SOURCE,    /* a constant must be a multiple of `step`, if that is not 0 */
    SLOT_PREDICATE, /* source, may be negated */
    SLOT_ADDRESS,
    SLOT_TENSOR,        /* [map, {coordinates}] */
    SLOT_TENSOR_MEMORY, /* [taddr] */
    SLOT_IMMEDIATE,
    SLOT_VECTOR,   /* source vector of `low` registers */
    SLOT_OFFSETS,  /* what an im2col copy takes besides */
    SLOT_LANES,    /* vector of 4 or 8 masks, for 1 or 2 blocks */
    SLOT_FRAGMENT, /* registers of matrix `low` */
    SLOT_MOVED,    /* source of mov: special registers and addresses too */
    SLOT_SYMBOL,   /* register, or address of a variable */
    SLOT_PACK,     /* vector that makes up the type */
    SLOT_SINK,     /* `_` and nothing else */
    SLOT_BARRIER,  /* register or 0 to 15 */
    SLOT_LABEL,
    SLOT_TARGETS,
    SLOT_CALL
};
enum ptx_slot_flags {
    SLOT_OPTIONAL = 1,
    SLOT_WRITTEN = 2,
    SLOT_READ = 4,       /* besides being written */
    SLOT_JOINED = 8,     /* behind `|` */
    SLOT_MAY_SINK = 16,  /* `_` will do */
    SLOT_VECTORIAL = 32, /* a vector where a vector modifier says so */
    SLOT_WIDER = 64,     /* the register may be wider than the type */
    SLOT_NO_CONSTANT = 256,
    SLOT_FIXED_SPACE = 128 /* `space` is a state space, not the number of one among the modifiers */
};
/* Types of a slot beyond those of enum ptx_mod. */
enum {
    TYPE_NTH = 0x1000,  /* + n: the n-th type among the modifiers */
    TYPE_WIDE = 0x1100, /* twice as wide as the first */
    TYPE_ADDRESS,       /* an integer as wide as an address, 32 or 64 bits */
    TYPE_COPY,          /* of an address: as many bytes as the constant operand says */
    TYPE_BYTES = 0x2000 /* + n: of an address: n bytes */
};
struct ptx_slot {
    uint8_t kind;
    uint8_t space;
    uint16_t flags;
    uint16_t type;
    uint16_t when;           /* there only with this modifier; MOD_NONE: always */
    int16_t low, high, step; /* of a constant; see the kinds */
};

struct ptx_form {
    uint16_t op;
    uint16_t version, target;
    uint8_t words, slots;   /* how many of each */
    const uint16_t *groups; /* see struct ptx_group */
    const struct ptx_slot *slot;
};

/* The group whose first word this is; mods NULL: it is past the last. */
static inline struct ptx_group ptx_group_here(const struct ptx_form *form, const uint16_t *word)
{
    if (word == form->groups + form->words)
        return (struct ptx_group){NULL, 0, false};
    return (struct ptx_group){word + 1, (uint8_t)*word, (*word & PTX_OPTIONAL) != 0};
}
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
/* The forms of an instruction. */
const struct ptx_form *ptx_forms_of(enum ptx_op op, size_t *count);
enum { PTX_MOST_MODS = 16, PTX_NO_FORM = 0xffff };

/* Do these modifiers, in this order, make the form? If `order` is not NULL, other orders will do
 * too (see ptx_mod_overtakes), and the form's own goes there. */
bool ptx_form_takes(const struct ptx_form *form, const uint16_t *mods, size_t count,
                    uint16_t *order);

/* May mods[i] not be taken yet, as one of its kind in front of it is not used? Types, state spaces
 * and layouts keep their order among themselves. */
bool ptx_mod_overtakes(const uint16_t *mods, const bool *used, size_t i);
/* The lowest version of PTX (times ten) for a choice of the form's modifiers, without the target's
 * own; and whether a target has it all. */
int ptx_choice_version(const struct ptx_form *form, const uint16_t *mods, size_t count);
bool ptx_choice_has(const struct ptx_form *form, const uint16_t *mods, size_t count,
                    struct ptx_target target);

/* Instructions of PTX that no target's table has here: families, for messages and pages. */
struct ptx_left_out {
    const char *family;       /* "textures and surfaces" */
    const char *const *names; /* first words, up to NULL */
};
extern const struct ptx_left_out ptx_left_out[];
extern const size_t ptx_left_out_count;
/* The family that an instruction starting with this word is of; NULL if none. */
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
