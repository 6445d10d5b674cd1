/* Declarations that the files of the parser share. A function that returns bool returns true on
 * success; on failure it has reported the error, and its caller gives up the current construct. */
#ifndef TW_PTX_PARSER_H
#define TW_PTX_PARSER_H

#include "ptx/ptx.h"
#include "ptx/ptx_index.h"
#include "ptx/ptx_scan.h"

/* Limits: no text needs more memory than a small multiple of its size, or deep recursion. */
enum {
    PTX_MOST_DEPTH = 64,         /* nested braces or parentheses */
    PTX_MOST_ELEMENTS = 256,     /* of a vector or a list */
    PTX_FREE_REGISTERS = 1 << 18 /* of a module, plus 16 for each byte of text */
};

enum ptx_name_kind {
    PTX_NAME_FUNCTION,
    PTX_NAME_VARIABLE,
    PTX_NAME_REGISTER, /* number: the register */
    PTX_NAME_RANGE,    /* %r of %r<10>; object: struct ptx_registers */
    PTX_NAME_LABEL
};

/* A pair of braces: names and labels declared between them. */
struct ptx_scope {
    struct ptx_scope *parent;
    struct name_table names, labels;
    struct loc open;
};

struct ptx_parser {
    struct arena *arena;
    struct diag *diag;
    const struct source *source;
    struct ptx_scanner scanner;
    struct ptx_token token, ahead;
    struct ptx_index index;
    struct ptx_module *module;
    struct name_table globals;
    uint64_t registers_left;
    /* in a function */
    struct ptx_function *function;
    struct ptx_scope *scope;
    const struct ptx_line *line;
    VEC(const struct ptx_line *) inlined; /* the function's lines that have a call */
    int depth;
};

/* --- tokens --- */

void ptx_advance(struct ptx_parser *p);
bool ptx_is_at(const struct ptx_parser *p, int punctuation);
bool ptx_is_ahead(const struct ptx_parser *p, int punctuation); /* after the token */
/* Takes the token if it is this character. Returns whether it was. */
bool ptx_accept(struct ptx_parser *p, int punctuation);
/* Takes this character, or reports "expected `,` after …", which ends with `where`. */
bool ptx_expect(struct ptx_parser *p, int punctuation, const char *where);
/* ptx_is_dot returns true if the token is .word. ptx_accept_dot also takes it. */
bool ptx_is_dot(const struct ptx_parser *p, const char *word);
bool ptx_accept_dot(struct ptx_parser *p, const char *word);
/* ptx_is_word returns true if the token is this name. ptx_accept_word also takes it. */
bool ptx_is_word(const struct ptx_parser *p, const char *word);
bool ptx_accept_word(struct ptx_parser *p, const char *word);
struct loc ptx_here(const struct ptx_parser *p);
char *ptx_token_text(struct ptx_parser *p);
/* Reports "expected …, found …" at the token. Returns false. */
bool ptx_expected(struct ptx_parser *p, const char *what);
/* Reports "expected …, found …" at a token that should be a type; a type for textures gets a
 * message of its own. Returns false. */
bool ptx_expected_type(struct ptx_parser *p, const char *what);
/* Takes a name. */
bool ptx_read_name(struct ptx_parser *p, const char *what, const char **name);
bool ptx_read_number(struct ptx_parser *p, const char *what, uint64_t most, uint64_t *number);
bool ptx_read_string(struct ptx_parser *p, const char **text);
/* Takes a .word that is a type of registers or variables. Returns MOD_NONE, and takes nothing,
 * if the token is not one. */
enum ptx_mod ptx_accept_type(struct ptx_parser *p);
/* Returns the state space that the token names, MOD_NONE if it names none. */
enum ptx_mod ptx_space_here(const struct ptx_parser *p);
/* Skips a statement that cannot be read: to after the next `;`, or to before the next `}`. */
void ptx_skip_statement(struct ptx_parser *p);

/* --- names --- */

void ptx_enter_scope(struct ptx_parser *p);
void ptx_leave_scope(struct ptx_parser *p);
/* Finds a name in the scopes and then in the module. Returns NULL if it is unknown. %r5 finds
 * %r<10>; then *reg is its register. */
struct name_entry *ptx_lookup(const struct ptx_parser *p, const char *text, size_t length,
                              uint32_t *reg);
/* Declares a name in the innermost scope, or in the module outside functions. Reports a name
 * that exists already. */
struct name_entry *ptx_declare(struct ptx_parser *p, const char *name, struct loc where,
                               enum ptx_name_kind kind, void *object);
/* Returns true if this is a register of the innermost scope, from a range or declared alone. */
bool ptx_is_register_here(const struct ptx_parser *p, const char *text, size_t length);
void ptx_unknown_name(struct ptx_parser *p, struct loc where, const char *name);
/* Returns true if the token is a label that this scope or one around it has defined so far. */
bool ptx_knows_label(const struct ptx_parser *p);
struct ptx_label *ptx_label_named(struct ptx_parser *p, const char *name);
bool ptx_define_label(struct ptx_parser *p, struct ptx_label *label, struct loc where);

/* --- parts --- */

struct ptx_constant {
    enum { PTX_CONSTANT_INTEGER, PTX_CONSTANT_FLOAT, PTX_CONSTANT_DOUBLE } kind;
    bool is_unsigned; /* integer: .u64, else .s64 */
    uint64_t bits;
};
bool ptx_read_constant(struct ptx_parser *p, struct ptx_constant *c); /* an expression */
bool ptx_read_offset(struct ptx_parser *p, int64_t *offset);          /* {+expression} */

/* Reads a declaration of variables after its linkage; the token is the state space. Pushes
 * statements or items. */
bool ptx_read_variables(struct ptx_parser *p, enum ptx_linkage linkage);
bool ptx_read_parameter(struct ptx_parser *p, bool named, struct ptx_variable **v);
bool ptx_read_registers(struct ptx_parser *p);
/* Declares the registers and their names, with a statement of the body. */
bool ptx_declare_registers(struct ptx_parser *p, struct loc where, struct ptx_registers *range);
bool ptx_read_function(struct ptx_parser *p, enum ptx_linkage linkage);
/* Open and close braces within a body, and the scope of the names between them. */
bool ptx_open_block(struct ptx_parser *p, struct loc where);
void ptx_close_block(struct ptx_parser *p);
bool ptx_read_instruction(struct ptx_parser *p);
bool ptx_read_section(struct ptx_parser *p);
/* Reads the rest of an operand after the name of a vector of registers: one of its elements, or
 * all of them. */
bool ptx_read_vector(struct ptx_parser *p, const struct ptx_registers *range, uint32_t first,
                     struct ptx_operand *o);
/* Reads a name such as %tid as its three parts and a zero. Returns false, and takes nothing, if
 * the token is not such a name. */
bool ptx_read_special_vector(struct ptx_parser *p, struct ptx_operand *o);
/* Finds the form of an instruction and adds the instruction to the function. */
void ptx_push_instruction(struct ptx_parser *p, struct loc where, struct ptx_instruction *ins);
/* Adds the mov of a vector as one mov for each element. */
bool ptx_push_vector_mov(struct ptx_parser *p, struct loc where, const struct ptx_instruction *ins);
void ptx_push(struct ptx_parser *p, struct ptx_statement statement);

/* Links a line to the .loc of the call that inlined it, if the caller was itself inlined. */
void ptx_link_line(struct ptx_parser *p, struct ptx_line *line);
/* Replaces lines of headers by lines of the program, once the names of the module's files are
 * known. */
void ptx_settle_lines(struct ptx_module *m);

#endif
