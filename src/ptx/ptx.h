/* A PTX program as data.
 *
 * A module has items in the order of its text: variables, functions and so on. A function's body is
 * a flat list of statements; braces are statements too, and everything that a statement names
 * (registers, labels, variables, functions) is resolved, so that a reader need not look at scopes
 * or names.
 *
 * All of it lives in the arena that the module was made with.
 */
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
    PTX_NOTHING, /* the result list of a call that has none */
    PTX_REGISTER,
    PTX_IMMEDIATE, /* integer: bits are its 64, two's complement */
    PTX_FLOAT,     /* 0f…: bits are the 32 of a float */
    PTX_DOUBLE,    /* 0d…, 1.5: bits are the 64 of a double */
    PTX_WARP_SZ,   /* the constant WARP_SZ, 32 */
    PTX_SPECIAL,   /* special register */
    PTX_SINK,      /* `_` */
    PTX_ADDRESS,   /* [base+offset], with `elements`: [base, {…}] */
    PTX_SYMBOL,    /* variable+offset, or a function: its address */
    PTX_VECTOR,    /* {…} */
    PTX_LIST,      /* (…), of a call */
    PTX_LABEL      /* a label, or the name of .branchtargets, .calltargets, .callprototype */
};

/* What an address or a symbol starts from. */
enum ptx_base { PTX_BASE_NONE, PTX_BASE_REGISTER, PTX_BASE_VARIABLE, PTX_BASE_FUNCTION };

struct ptx_operand {
    uint8_t kind;
    uint8_t base; /* of an address or symbol: enum ptx_base */
    bool negated; /* !p */
    bool joined;  /* written behind the one before and `|` */
    bool unified; /* of an address: [a].unified */
    /* of an address: an offset of 0 is written, [a+0]; code for debuggers differs */
    bool plus_zero;
    uint16_t special; /* enum ptx_special */
    uint32_t reg;     /* index into the function's registers */
    uint32_t count;   /* of elements */
    union {
        uint64_t bits;  /* of a constant */
        int64_t offset; /* of an address or symbol, in bytes */
        struct ptx_label *label;
    };
    union {
        struct ptx_variable *variable;
        struct ptx_function *function;
    };
    struct ptx_operand *elements;
};

/* --- instructions --- */

/* A place in a source file, as .loc says. */
struct ptx_line {
    uint32_t file; /* index of a .file directive */
    uint32_t line, column;
    /* Of a function that was inlined: its name as a label of a section plus an offset, and where it
     * was called. */
    const char *function_name; /* NULL: not inlined */
    int64_t function_offset;
    bool has_call;
    uint32_t call_file, call_line, call_column;
    /* The .loc of that call, if the function that has it was inlined too. */
    const struct ptx_line *caller;
    /* The place in a header of the system that was inlined here; NULL: this is where it is. */
    const struct ptx_line *header;
};

enum { PTX_MOST_OPERANDS = 16 };

struct ptx_instruction {
    uint16_t op;   /* enum ptx_op */
    uint16_t form; /* index into ptx_forms, PTX_NO_FORM if none fits */
    uint8_t mod_count, operand_count;
    bool guarded, guard_negated; /* @p, @!p */
    uint32_t guard;              /* register */
    uint16_t mods[PTX_MOST_MODS];
    struct ptx_operand *operands;
    /* The latest .loc of a line (not 0), NULL before the first; of a header of the system, the line
     * of the program that the header's function was inlined at. */
    const struct ptx_line *line;
};

/* Has it this modifier? */
bool ptx_has(const struct ptx_instruction *ins, enum ptx_mod mod);
/* Its n-th modifier of a class, from 0; MOD_NONE if it has fewer. ptx_type: its n-th type. */
enum ptx_mod ptx_find(const struct ptx_instruction *ins, enum ptx_class class, int nth);
enum ptx_mod ptx_type(const struct ptx_instruction *ins, int nth);
/* Registers of a vector: 1 without .v2 and the like. */
int ptx_vector_length(const struct ptx_instruction *ins);

/* --- statements --- */

struct ptx_label {
    const char *name;
    struct loc where;
    bool defined;
    /* index of what defines it: PTX_AT_LABEL, PTX_AT_TARGETS, PTX_AT_PROTOTYPE */
    uint32_t statement;
    struct ptx_label *same; /* while parsing: the label of a scope around that is meant */
};

/* .branchtargets: labels; .calltargets: functions. */
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
    PTX_AT_MARK /* while a function is built: ptx_mark */
};

struct ptx_statement {
    enum ptx_statement_kind kind;
    struct loc where; /* in the parsed text */
    union {
        struct ptx_instruction *instruction;
        struct ptx_label *label;
        struct ptx_registers *registers;
        struct ptx_variable *variable;
        const struct ptx_line *line;
        const char *pragma; /* what stands between the quotes */
        struct ptx_targets *targets;
        struct ptx_prototype *prototype;
        const void *mark;
    };
};

/* A place in a body that was built: before an instruction, numbered from 0. */
struct ptx_mark {
    uint32_t instruction;
    const void *what;
};

/* --- declarations --- */

/* .reg .type name; or .reg .type name<count>; the registers are first, first + 1, … of the
 * function. Of .reg .v2 and .v4 every element is a register: name.x, name.y, …; count is of
 * elements. */
struct ptx_registers {
    const char *name;
    uint16_t type;
    bool numbered;
    uint32_t first, count;
    uint8_t vector; /* 2 or 4; 0: no vectors */
};

/* Registers of one name: 1, or the elements of a vector. */
uint32_t ptx_registers_width(const struct ptx_registers *r);

/* A register of a function: which declaration, and which of its registers: the number in its name,
 * if they are no vectors. */
struct ptx_register {
    uint32_t range;
    uint32_t number;
};

enum ptx_linkage { PTX_LOCAL, PTX_VISIBLE, PTX_EXTERN, PTX_WEAK, PTX_COMMON };

/* An initialiser: a value or, in braces, a list. */
struct ptx_initial {
    enum {
        PTX_INIT_INTEGER,
        PTX_INIT_FLOAT,
        PTX_INIT_DOUBLE,
        PTX_INIT_ADDRESS,
        PTX_INIT_LIST
    } kind;
    bool generic;  /* generic(a): as an address of no space */
    uint64_t mask; /* of an address: which of its bits, 0 for all */
    uint64_t bits; /* of a number */
    int64_t offset;
    struct ptx_variable *variable; /* of an address, or */
    struct ptx_function *function;
    VEC(struct ptx_initial) list;
};

enum { PTX_MOST_DIMENSIONS = 8, PTX_UNKNOWN_EXTENT = -1 };

struct ptx_variable {
    const char *name;
    struct loc where;
    uint8_t linkage;
    uint16_t space; /* MOD_GLOBAL, MOD_SHARED, …; MOD_NONE for a parameter in a register */
    uint16_t type;
    uint8_t vector;     /* 2, 4, or 1 */
    uint32_t alignment; /* bytes, as written; 0: the type's own */
    int dimensions;
    int64_t extents[PTX_MOST_DIMENSIONS]; /* PTX_UNKNOWN_EXTENT: [] */
    const struct ptx_initial *initial;    /* NULL: zeros, or undefined */
    const char *attribute;                /* what stands in .attribute(…), NULL if nothing */
    /* Of a parameter: .ptr, what it points to (MOD_NONE: generic) and how it is aligned (0: not
     * said). */
    bool pointer;
    uint16_t pointer_space;
    uint32_t pointer_alignment;
    uint32_t reg; /* of a parameter in a register, or its first element */
};

/* Elements along a dimension, PTX_UNKNOWN_EXTENT if nothing says. */
int64_t ptx_variable_extent(const struct ptx_variable *v, int dimension);
/* Bytes of a variable, 0 if its extent is unknown; its alignment. */
uint64_t ptx_variable_size(const struct ptx_variable *v);
uint32_t ptx_variable_alignment(const struct ptx_variable *v);

/* The address of a variable, in its space or, if asked, generic; or of a function. */
typedef uint64_t ptx_locate(void *user, const struct ptx_variable *variable,
                            const struct ptx_function *function, bool generic);
/* Writes what a variable holds at the start into ptx_variable_size(v) bytes: its initialiser, zeros
 * for the rest. Lists within lists fill rows. `locate` is asked for addresses. */
void ptx_variable_image(const struct ptx_variable *v, uint8_t *bytes, ptx_locate *locate,
                        void *user);

/* What a function takes and gives. */
struct ptx_signature {
    VEC(struct ptx_variable *) results, parameters;
    bool noreturn;
};

uint64_t ptx_signature_bytes(const struct ptx_signature *s);
/* PTX ISA, kernel-function-parameters: since PTX 8.1 a kernel may have more of them. */
enum { PTX_PARAMETERS_ONCE = 4352, PTX_PARAMETERS_MOST = 32764 };

/* name: .callprototype …; for calls through a pointer */
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
    uint8_t most; /* numbers behind it */
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
    bool refused;      /* ptx_refuse: something in it cannot be read, or is wrong */
    uint32_t from, to; /* of a definition: its part of the parsed text */
    struct ptx_signature signature;
    VEC(struct ptx_limit) limits;
    VEC(const char *) pragmas; /* in front of the body */
    VEC(struct ptx_registers *) ranges;
    VEC(struct ptx_register) registers;
    VEC(struct ptx_label *) labels;
    VEC(struct ptx_statement) body;
    VEC(struct ptx_mark) marks; /* in order; they are not printed */
};

/* What C++ calls it: "zip" of _Z3zipPfPKf, "f" of _ZN2ns1fEv, "tile" of _ZZ3zipPfE4tile; else as it
 * is. */
const char *ptx_plain_name(struct arena *a, const char *mangled);
/* The name of a register as text; its type. */
const char *ptx_register_name(struct arena *a, const struct ptx_function *f, uint32_t reg);
/* Is the register an element of a vector? Is the operand all of one, in order? */
bool ptx_register_is_element(const struct ptx_function *f, uint32_t reg);
bool ptx_whole_vector(const struct ptx_function *f, const struct ptx_operand *o);
enum ptx_mod ptx_register_type(const struct ptx_function *f, uint32_t reg);

/* --- modules --- */

struct ptx_file {
    uint32_t number;
    const char *name; /* the bytes of the path; the text of PTX has escapes for what is not ASCII */
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

/* Debug information and the like, carried along. */
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
    /* of a definition or declaration: what a name means, defined here or elsewhere */
    struct ptx_function *function;
    const struct ptx_function *declared; /* of a declaration: as it stands here */
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
    int version; /* of PTX, times ten, as read; 0: the lowest that the content needs */
    struct ptx_target target;
    bool debug;               /* .target …, debug */
    const char *texture_mode; /* .target …, texmode_independent; NULL: none */
    int address_size;         /* 64 */
    VEC(struct ptx_item) items;
    VEC(uint32_t) opaque; /* where the text has variables of types that are not supported */
};

/* An empty module for a target. */
struct ptx_module *ptx_module_new(struct arena *a, struct ptx_target target);

/* The function or variable of that name, NULL if there is none. A linear search. */
struct ptx_function *ptx_find_function(const struct ptx_module *m, const char *name);
struct ptx_variable *ptx_find_variable(const struct ptx_module *m, const char *name);

/* The lowest version of PTX, times ten, that knows the target and all that the module has. */
int ptx_lowest_version(const struct ptx_module *m);

/* The functions and variables that a kernel names, directly or through others; itself first. Lives
 * in the arena. */
struct ptx_reach {
    struct arena *arena;
    VEC(const struct ptx_function *) functions;
    VEC(const struct ptx_variable *) variables;
    struct number_map seen; /* the functions and variables of the two lists */
    bool reserved;          /* what the system reserves in shared memory */
};
void ptx_reach(struct ptx_reach *r, const struct ptx_function *kernel);

/* --- text --- */

/* The module as text. One program has one text; what ptx_parse makes of it prints the same. */
void ptx_print(struct text *out, const struct ptx_module *m);
/* One instruction without its guard's line end: "@%p1 add.s32 %r1, %r2, 3;", for messages and
 * listings. */
void ptx_print_instruction(struct text *out, const struct ptx_function *f,
                           const struct ptx_instruction *ins);

/* The module in a text, as nvcc, clang or ptx_print write it; NULL if diag has errors. The module
 * and its names live in `arena`; places (struct loc) point into `source`. */
struct ptx_module *ptx_parse(struct arena *arena, const struct source *source, struct diag *diag);
/* The same for a text with faults: what cannot be read is reported and left out. NULL: not even the
 * head can be read. */
struct ptx_module *ptx_parse_most(struct arena *arena, const struct source *source,
                                  struct diag *diag);
/* Marks the functions that errors are in. False: some are in none, so that the module is of no
 * use. */
bool ptx_refuse(struct ptx_module *m, const struct diag *diag);
/* Is the place that of a variable whose type is not supported? */
bool ptx_is_opaque(const struct ptx_module *m, struct loc where);
/* Is the place in the function's text? */
bool ptx_is_within(const struct ptx_function *f, struct loc where);

/* --- checking --- */

/* Reports what is wrong with the module to diag: types, spaces, alignment, operands, what the
 * target lacks. True if nothing is. Places are those of the parsed text; a module made by the
 * compiler has none, and messages quote the instruction. */
bool ptx_verify(const struct ptx_module *m, struct diag *diag); /* refused functions left out */

#endif
