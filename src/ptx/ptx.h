/* A PTX program as data.
 *
 * A module has items in the order of its text: variables, functions and so on. A function's body is
 * a flat list of statements; braces are statements too. Every name in a statement (register, label,
 * variable, function) is resolved, so a pass over the body needs neither scopes nor names.
 *
 * The arena of the module owns all of it. */
#ifndef TW_PTX_H
#define TW_PTX_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/number_map.h"
#include "ptx/ptx_table.h"

struct ptx_module;
struct ptx_function;
struct ptx_statement;

/* --- operands --- */

enum ptx_operand_kind {
    PTX_NOTHING, /* results of a call that has none */
    PTX_REGISTER,
    PTX_IMMEDIATE, /* integer: 64 bits in two's complement */
    PTX_FLOAT,     /* 0f…: `bits` has a float's 32 bits */
    PTX_DOUBLE,    /* 0d…, 1.5: `bits` has a double's 64 */
    PTX_WARP_SZ,   /* the constant WARP_SZ, 32 */
    PTX_SPECIAL,   /* special register */
    PTX_SINK,      /* `_` */
    PTX_ADDRESS,   /* [base+offset] */
    PTX_SYMBOL,    /* variable+offset, or a function's address */
    PTX_TENSOR,    /* [base+offset, {…}]: its elements are an address and a vector */
    PTX_VECTOR,    /* {…} */
    PTX_LIST,      /* (…) of a call */
    PTX_LABEL      /* a label, or a name of .branchtargets, .calltargets, .callprototype */
};

/* The base of an address or a symbol. */
enum ptx_base { PTX_BASE_NONE, PTX_BASE_REGISTER, PTX_BASE_VARIABLE, PTX_BASE_FUNCTION };

/* Two words, which calls pass in registers: a program makes and passes on thousands of operands. */
struct ptx_operand {
    uint8_t kind;
    uint8_t base : 2; /* address or symbol: enum ptx_base */
    bool negated : 1; /* !p */
    bool joined : 1;  /* follows the last operand and `|` */
    bool unified : 1; /* address: [a].unified */
    /* address: the text has an offset of 0, [a+0]; ptxas writes other code for it if it keeps
     * debug information */
    bool plus_zero : 1;
    union {
        uint16_t special;    /* enum ptx_special */
        uint16_t count;      /* of elements */
        int16_t offset_high; /* of a variable or function: ptx_offset */
    };
    union {
        uint32_t reg; /* index into the function's registers */
        uint32_t offset_low;
    };
    union {
        uint64_t bits; /* of a constant */
        int64_t bytes; /* offset of an address without a variable: ptx_offset */
        struct ptx_label *label;
        struct ptx_variable *variable;
        struct ptx_function *function;
        struct ptx_operand *elements;
    };
};

static inline bool ptx_is_named(const struct ptx_operand *o)
{
    return o->base == PTX_BASE_VARIABLE || o->base == PTX_BASE_FUNCTION;
}
/* Returns the bytes that an address or a symbol adds to its base. */
static inline int64_t ptx_offset(const struct ptx_operand *o)
{
    return ptx_is_named(o) ? (int64_t)((uint64_t)(int64_t)o->offset_high << 32 | o->offset_low)
                           : o->bytes;
}
/* Sets these bytes, after the base is set. Returns false if they do not fit: from a name there are 48 bits. */
static inline bool ptx_set_offset(struct ptx_operand *o, int64_t bytes)
{
    if (!ptx_is_named(o)) {
        o->bytes = bytes;
        return true;
    }
    o->offset_low = (uint32_t)bytes;
    o->offset_high = (int16_t)(bytes >> 32);
    return ptx_offset(o) == bytes;
}
/* Returns the number of elements; 0 if the kind has none. */
static inline uint32_t ptx_elements(const struct ptx_operand *o)
{
    return o->kind >= PTX_TENSOR && o->kind <= PTX_LIST ? o->count : 0;
}
/* Returns the address that the operand is or, of a tensor, has; otherwise NULL. */
static inline const struct ptx_operand *ptx_address_in(const struct ptx_operand *o)
{
    return o->kind == PTX_TENSOR ? &o->elements[0] : o->kind == PTX_ADDRESS ? o : NULL;
}
/* Returns true if two addresses are written alike. */
static inline bool ptx_same_address(const struct ptx_operand *a, const struct ptx_operand *b)
{
    return a->base == b->base && a->reg == b->reg && a->bits == b->bits &&
           ptx_offset(a) == ptx_offset(b);
}

/* --- instructions --- */

/* A place in a source file, from .loc. */
struct ptx_line {
    uint32_t file; /* index of a .file directive */
    uint32_t line, column;
    /* For an inlined function: its name, as the label of a section plus an offset, and the place
     * of the call. */
    const char *function_name; /* NULL: not inlined */
    int64_t function_offset;
    bool has_call;
    uint32_t call_file, call_line, call_column;
    /* The .loc of that call, if the caller was itself inlined. */
    const struct ptx_line *caller;
    /* The place in a system header whose function was inlined here; NULL: no header is involved. */
    const struct ptx_line *header;
};

enum { PTX_MOST_OPERANDS = 16 };

struct ptx_instruction {
    uint16_t op;   /* enum ptx_op */
    uint16_t form; /* index into ptx_forms; PTX_NO_FORM: none fits */
    uint8_t mod_count, operand_count;
    bool guarded, guard_negated; /* @p, @!p */
    uint32_t guard;              /* register */
    uint16_t mods[PTX_MOST_MODS];
    struct ptx_operand *operands;
    /* The latest .loc with a line other than 0; NULL before the first. If that is in a system
     * header, the line of the program at which the header's function was inlined. */
    const struct ptx_line *line;
};

/* Returns true if the instruction has this modifier. */
bool ptx_has(const struct ptx_instruction *ins, enum ptx_mod mod);
/* Returns the n-th modifier of a class, counted from 0; MOD_NONE if there are fewer. ptx_type
 * returns the n-th type. */
enum ptx_mod ptx_find(const struct ptx_instruction *ins, enum ptx_class class, int nth);
enum ptx_mod ptx_type(const struct ptx_instruction *ins, int nth);
/* Returns the number of registers of a vector: 1 without a modifier such as .v2. */
int ptx_vector_length(const struct ptx_instruction *ins);

/* --- statements --- */

struct ptx_label {
    const char *name;
    struct loc where;
    bool defined;
    /* Index of the statement that defines it: PTX_AT_LABEL, PTX_AT_TARGETS or PTX_AT_PROTOTYPE. */
    uint32_t statement;
    struct ptx_label *same; /* while parsing: the outer scope's label that is meant */
};

/* .branchtargets have labels; .calltargets have functions. */
struct ptx_targets {
    struct ptx_label *name;
    bool calls;
    VEC(struct ptx_label *) labels;
    VEC(struct ptx_function *) functions;
};

enum ptx_statement_kind {
    PTX_AT_INSTRUCTION,
    PTX_AT_LABEL,
    PTX_AT_OPEN,  /* { */
    PTX_AT_CLOSE, /* } */
    PTX_AT_REGISTERS,
    PTX_AT_VARIABLE,
    PTX_AT_LINE,
    PTX_AT_PRAGMA,
    PTX_AT_TARGETS,
    PTX_AT_PROTOTYPE,
    PTX_AT_MARK /* of ptx_mark, until ptx_end */
};

struct ptx_statement {
    enum ptx_statement_kind kind;
    struct loc where; /* place in the text */
    union {
        struct ptx_instruction *instruction;
        struct ptx_label *label;
        struct ptx_registers *registers;
        struct ptx_variable *variable;
        const struct ptx_line *line;
        const char *pragma; /* the text in the quotes */
        struct ptx_targets *targets;
        struct ptx_prototype *prototype;
        const struct ptx_mark *mark;
    };
};

/* A place in the body of a built function, for traces: a loop of the program begins, a copy of its body does, its branch back
 * is the next one, or the loop is over. Loops are nested. */
enum ptx_mark_kind { PTX_LOOP_BEGINS, PTX_COPY_BEGINS, PTX_BRANCH_NEXT, PTX_LOOP_ENDS };
struct ptx_mark {
    uint32_t instruction; /* number of the instruction after it, counted from 0 */
    enum ptx_mark_kind kind;
    const void *loop; /* of the program */
    int copy; /* iterations of the program since the iteration of the code began; -1: no copy of the body */
};

/* --- declarations --- */

/* A declaration .reg .type name; or .reg .type name<count>; its registers are first, first + 1,
 * … of the function. With .reg .v2 or .v4 every element is a register: name.x, name.y, …; then
 * count is the number of elements. */
struct ptx_registers {
    const char *name;
    uint16_t type;
    bool numbered;
    uint32_t first, count;
    uint8_t vector; /* 2 or 4; 0: no vectors */
};

/* Returns the number of registers of one name: 1, or the elements of a vector. */
uint32_t ptx_registers_width(const struct ptx_registers *r);

/* A register of a function: its declaration, and its index there, which is the number in its
 * name unless it is an element of a vector. */
struct ptx_register {
    uint32_t range;
    uint32_t number;
};

enum ptx_linkage { PTX_LOCAL, PTX_VISIBLE, PTX_EXTERN, PTX_WEAK, PTX_COMMON };

/* An initialiser: a value or a list in braces. */
struct ptx_initial {
    enum {
        PTX_INIT_INTEGER,
        PTX_INIT_FLOAT,
        PTX_INIT_DOUBLE,
        PTX_INIT_ADDRESS,
        PTX_INIT_LIST
    } kind;
    bool generic;  /* generic(a): a generic address */
    uint64_t mask; /* the address bits to use; 0: all */
    uint64_t bits; /* of a number */
    int64_t offset;
    struct ptx_variable *variable; /* of an address: this variable, or */
    struct ptx_function *function;
    VEC(struct ptx_initial) list;
};

enum { PTX_MOST_DIMENSIONS = 8, PTX_UNKNOWN_EXTENT = -1 };

struct ptx_variable {
    const char *name;
    struct loc where;
    uint8_t linkage;
    uint16_t space; /* MOD_GLOBAL, MOD_SHARED, …; MOD_NONE: parameter in a register */
    uint16_t type;
    uint8_t vector;     /* 2, 4, or 1 */
    uint32_t alignment; /* bytes, as written; 0: of the type */
    int dimensions;
    int64_t extents[PTX_MOST_DIMENSIONS]; /* PTX_UNKNOWN_EXTENT: [] */
    const struct ptx_initial *initial;    /* NULL: zeros, or undefined */
    const char *attribute;                /* the text in .attribute(…); NULL: none */
    /* For a parameter with .ptr: the space of the memory it points to (MOD_NONE: generic) and
     * its alignment in bytes (0: not given). */
    bool pointer;
    uint16_t pointer_space;
    uint32_t pointer_alignment;
    uint32_t reg; /* register of a parameter, or its first element */
};

/* Returns the number of elements along a dimension, PTX_UNKNOWN_EXTENT if it is not known. */
int64_t ptx_variable_extent(const struct ptx_variable *v, int dimension);
/* Returns the bytes of a variable, 0 if its extent is unknown. ptx_variable_alignment returns
 * its alignment in bytes. */
uint64_t ptx_variable_size(const struct ptx_variable *v);
uint32_t ptx_variable_alignment(const struct ptx_variable *v);

/* Returns the address of a variable, in its space or, if `generic`, in the generic one; or the
 * address of a function. */
typedef uint64_t ptx_locate(void *user, const struct ptx_variable *variable,
                            const struct ptx_function *function, bool generic);
/* Writes the initial value of a variable into ptx_variable_size(v) bytes: its initialiser, and
 * zeros for the rest. Nested lists fill rows. Calls `locate` for addresses. */
void ptx_variable_image(const struct ptx_variable *v, uint8_t *bytes, ptx_locate *locate,
                        void *user);

/* Parameters and results of a function. */
struct ptx_signature {
    VEC(struct ptx_variable *) results, parameters;
    bool noreturn;
};

uint64_t ptx_signature_bytes(const struct ptx_signature *s);
/* Limits on the bytes of a kernel's parameters, before and since PTX 8.1. PTX ISA,
 * kernel-function-parameters. */
enum { PTX_PARAMETERS_ONCE = 4352, PTX_PARAMETERS_MOST = 32764 };

/* name: .callprototype …; used by calls through a pointer */
struct ptx_prototype {
    struct ptx_label *name;
    struct ptx_signature signature;
};

/* Directives of a function that limit or describe its launch. */
#define PTX_DIRECTIVES(X)                                                                          \
    X(MAXNTID, "maxntid", 3, 13, 0)                                                                \
    X(REQNTID, "reqntid", 3, 21, 0)                                                                \
    X(MINNCTAPERSM, "minnctapersm", 1, 20, 0)                                                      \
    X(MAXNCTAPERSM, "maxnctapersm", 1, 20, 0)                                                      \
    X(MAXNREG, "maxnreg", 1, 13, 0)                                                                \
    X(REQNCTAPERCLUSTER, "reqnctapercluster", 3, 78, 90)                                           \
    X(EXPLICITCLUSTER, "explicitcluster", 0, 78, 90)                                               \
    X(MAXCLUSTERRANK, "maxclusterrank", 1, 78, 90)                                                 \
    X(BLOCKSARECLUSTERS, "blocksareclusters", 0, 90, 90)                                           \
    X(ABI_PRESERVE, "abi_preserve", 1, 90, 80)                                                     \
    X(ABI_PRESERVE_CONTROL, "abi_preserve_control", 1, 90, 80)
enum ptx_directive {
#define X(id, name, most, version, target) PTX_##id,
    PTX_DIRECTIVES(X)
#undef X
        PTX_DIRECTIVE_COUNT
};
struct ptx_directive_info {
    const char *name;
    uint8_t most; /* numbers after it */
    uint8_t version, target;
};
extern const struct ptx_directive_info ptx_directives[PTX_DIRECTIVE_COUNT];

struct ptx_limit {
    enum ptx_directive directive;
    uint32_t count;
    uint32_t values[3];
};

struct ptx_function {
    const char *name;
    struct loc where;
    uint8_t linkage;
    bool entry;        /* .entry, else .func */
    bool defined;      /* it has a body */
    bool refused;      /* ptx_refuse: it has an error or an unreadable part */
    uint32_t from, to; /* a definition's range in the text */
    struct ptx_signature signature;
    VEC(struct ptx_limit) limits;
    VEC(const char *) pragmas; /* before the body */
    VEC(struct ptx_registers *) ranges;
    VEC(struct ptx_register) registers;
    VEC(struct ptx_label *) labels;
    VEC(struct ptx_statement) body;
    VEC(struct ptx_mark) marks; /* in order; never printed */
};

/* Returns the C++ name of a mangled one: "zip" for _Z3zipPfPKf, "f" for _ZN2ns1fEv, "tile" for
 * _ZZ3zipPfE4tile. Returns other names unchanged. */
const char *ptx_plain_name(struct arena *a, const char *mangled);
/* Returns the name of a register as text. ptx_register_type returns its type. */
const char *ptx_register_name(struct arena *a, const struct ptx_function *f, uint32_t reg);
/* ptx_register_is_element returns true if the register is an element of a vector.
 * ptx_whole_vector returns true if the operand is all elements of one vector, in order. */
bool ptx_register_is_element(const struct ptx_function *f, uint32_t reg);
bool ptx_whole_vector(const struct ptx_function *f, const struct ptx_operand *o);
enum ptx_mod ptx_register_type(const struct ptx_function *f, uint32_t reg);

/* --- modules --- */

struct ptx_file {
    uint32_t number;
    const char *name; /* the path's bytes; PTX text escapes those that are not ASCII */
    bool stamped;
    uint64_t timestamp, size;
};

/* A piece of a .section: a label, or values of 1, 2, 4 or 8 bytes. */
struct ptx_datum {
    const char *label; /* "name:", or NULL */
    uint8_t bytes;
    struct ptx_datum_value {
        const char *symbol, *minus; /* symbol - minus + number */
        uint64_t number;
    } * values;
    size_t count;
};

/* A section, such as debug information. It is kept as it was read. */
struct ptx_section {
    const char *name; /* ".debug_str" */
    VEC(struct ptx_datum) data;
};

struct ptx_alias {
    struct ptx_function *name, *function;
};

enum ptx_item_kind {
    PTX_ITEM_VARIABLE,
    PTX_ITEM_FUNCTION,    /* with its body */
    PTX_ITEM_DECLARATION, /* without */
    PTX_ITEM_FILE,
    PTX_ITEM_SECTION,
    PTX_ITEM_ALIAS,
    PTX_ITEM_PRAGMA
};
struct ptx_item {
    enum ptx_item_kind kind;
    /* For a definition or declaration: the function of that name, defined here or in another
     * module. */
    struct ptx_function *function;
    const struct ptx_function *declared; /* a declaration: its own text */
    union {
        struct ptx_variable *variable;
        struct ptx_file *file;
        struct ptx_section *section;
        struct ptx_alias *alias;
        const char *pragma;
    };
};

struct ptx_module {
    struct arena *arena;
    int version; /* of PTX, times ten, as read; 0: the lowest that suffices */
    struct ptx_target target;
    bool debug;               /* .target …, debug */
    const char *texture_mode; /* .target …, texmode_independent; NULL: none */
    int address_size;         /* 64 */
    VEC(struct ptx_item) items;
    VEC(uint32_t) opaque; /* places of variables whose types are not supported */
};

/* Makes an empty module for a target. */
struct ptx_module *ptx_module_new(struct arena *a, struct ptx_target target);

/* Return the function or the variable of that name, NULL if there is none. Each is a linear
 * search. */
struct ptx_function *ptx_find_function(const struct ptx_module *m, const char *name);
struct ptx_variable *ptx_find_variable(const struct ptx_module *m, const char *name);

/* Returns the lowest version of PTX, times ten, that has the target and everything in the
 * module. */
int ptx_lowest_version(const struct ptx_module *m);

/* The functions and variables that a kernel names, directly or through others. If any of them calls
 * by an address, the functions of the whole module are among them, because the host or another
 * kernel may have given the address. The kernel is the first function. The arena owns the lists. */
struct ptx_reach {
    struct arena *arena;
    const struct ptx_module *module;
    VEC(const struct ptx_function *) functions;
    VEC(const struct ptx_variable *) variables;
    struct number_map seen; /* set of the functions and variables in both lists */
    bool reserved;          /* it uses reserved shared memory */
};
void ptx_reach(struct ptx_reach *r, const struct ptx_function *kernel);

/* --- text --- */

/* Prints the module as text. Printing, parsing and printing again gives the same text. */
void ptx_print(struct text *out, const struct ptx_module *m);
/* Prints one instruction without the end of its line, for messages and listings: "@%p1 add.s32
 * %r1, %r2, 3;". */
void ptx_print_instruction(struct text *out, const struct ptx_function *f,
                           const struct ptx_instruction *ins);

/* Parses a module that nvcc, clang or ptx_print wrote. Returns NULL if diag has errors. `arena`
 * owns the module and its names; places (struct loc) point into `source`. */
struct ptx_module *ptx_parse(struct arena *arena, const struct source *source, struct diag *diag);
/* Parses a text that may have errors: reports the parts that cannot be read and leaves them out.
 * Returns NULL if the head cannot be read. */
struct ptx_module *ptx_parse_most(struct arena *arena, const struct source *source,
                                  struct diag *diag);
/* Marks the functions that have errors. Returns false if an error is outside all functions; then
 * the module cannot be used. */
bool ptx_refuse(struct ptx_module *m, const struct diag *diag);
/* Returns true if the place belongs to a variable whose type is not supported. */
bool ptx_is_opaque(const struct ptx_module *m, struct loc where);
/* Returns the name of the file with that number in .loc lines; NULL: there is none. */
const char *ptx_file_name(const struct ptx_module *m, uint32_t number);
/* Returns true if the place is in the function's text. */
bool ptx_is_within(const struct ptx_function *f, struct loc where);

/* --- checking --- */

/* Checks the module's types, spaces, alignment, operands and demands on the target, and reports
 * errors to diag. Returns true if it finds none. Places are those of the parsed text; a module
 * that the compiler built has none, so messages quote the instruction. */
bool ptx_verify(const struct ptx_module *m, struct diag *diag); /* skips refused functions */

/* Returns the most registers of a thread that are live at once, in words of 32 bits. ptx_pressure.c */
int ptx_estimate_registers(struct arena *a, const struct ptx_function *f);
/* Returns the share of the instructions after which more registers than that are live. */
double ptx_share_above(struct arena *a, const struct ptx_function *f, int registers);

#endif
