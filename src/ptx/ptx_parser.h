/* What the files of the parser share. Functions that return bool say whether all is well; if not,
 * they have reported it, and the caller gives up what it was reading. */
#ifndef TW_PTX_PARSER_H
#define TW_PTX_PARSER_H

#include "ptx/ptx.h"
#include "ptx/ptx_index.h"
#include "ptx/ptx_scan.h"

/* So that no text, however made, needs more than a small multiple of its size in memory, or deep
 * recursion. */
enum {
    PTX_MOST_DEPTH = 64,         /* of braces, of parentheses */
    PTX_MOST_ELEMENTS = 256,     /* of a vector or a list */
    PTX_FREE_REGISTERS = 1 << 18 /* that a module may declare, besides 16 for each byte of text */
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
    VEC(const struct ptx_line *) inlined; /* those of the function that have a call */
    int depth;
};

/* --- tokens --- */

void ptx_advance(struct ptx_parser *p);
bool ptx_is_at(const struct ptx_parser *p, int punctuation);
bool ptx_is_ahead(const struct ptx_parser *p, int punctuation); /* behind the token */
/* Takes the character if it is there. */
bool ptx_accept(struct ptx_parser *p, int punctuation);
/* Takes it or reports "expected `,` behind what". */
bool ptx_expect(struct ptx_parser *p, int punctuation, const char *where);
/* Is the token .word? ptx_accept_dot takes it then. */
bool ptx_is_dot(const struct ptx_parser *p, const char *word);
bool ptx_accept_dot(struct ptx_parser *p, const char *word);
/* The same of a name. */
bool ptx_is_word(const struct ptx_parser *p, const char *word);
bool ptx_accept_word(struct ptx_parser *p, const char *word);
struct loc ptx_here(const struct ptx_parser *p);
char *ptx_token_text(struct ptx_parser *p);
/* Reports "expected what, found …" at the token; false. */
bool ptx_expected(struct ptx_parser *p, const char *what);
/* The same where a type may stand: textures are refused by their names. */
bool ptx_expected_type(struct ptx_parser *p, const char *what);
/* Takes a name. */
bool ptx_read_name(struct ptx_parser *p, const char *what, const char **name);
bool ptx_read_number(struct ptx_parser *p, const char *what, uint64_t most, uint64_t *number);
bool ptx_read_string(struct ptx_parser *p, const char **text);
/* A .word that is a type of registers or variables; MOD_NONE, nothing taken, if it is none. */
enum ptx_mod ptx_accept_type(struct ptx_parser *p);
/* The state space that the token names, MOD_NONE if none. */
enum ptx_mod ptx_space_here(const struct ptx_parser *p);
/* To the end of what cannot be read: behind the next `;`, or in front of the next `}`. */
void ptx_skip_statement(struct ptx_parser *p);

/* --- names --- */

void ptx_enter_scope(struct ptx_parser *p);
void ptx_leave_scope(struct ptx_parser *p);
/* In the scopes and then the module; NULL if unknown. %r5 is found by %r<10>: *reg is its register
 * then. */
struct name_entry *ptx_lookup(const struct ptx_parser *p, const char *text, size_t length,
                              uint32_t *reg);
/* A new name in the innermost scope, or the module outside functions; reports it if it is there
 * already. */
struct name_entry *ptx_declare(struct ptx_parser *p, const char *name, struct loc where,
                               enum ptx_name_kind kind, void *object);
/* Is it a register of the innermost scope, of a range or by itself? */
bool ptx_is_register_here(const struct ptx_parser *p, const char *text, size_t length);
void ptx_unknown_name(struct ptx_parser *p, struct loc where, const char *name);
/* Is the token a label of this scope or one around that was defined? */
bool ptx_knows_label(const struct ptx_parser *p);
struct ptx_label *ptx_label_named(struct ptx_parser *p, const char *name);
bool ptx_define_label(struct ptx_parser *p, struct ptx_label *label, struct loc where);

/* --- parts --- */

struct ptx_constant {
    enum { PTX_CONSTANT_INTEGER, PTX_CONSTANT_FLOAT, PTX_CONSTANT_DOUBLE } kind;
    bool is_unsigned; /* of an integer: .u64, else .s64 */
    uint64_t bits;
};
bool ptx_read_constant(struct ptx_parser *p, struct ptx_constant *c); /* an expression */
bool ptx_read_offset(struct ptx_parser *p, int64_t *offset);          /* {+expression} */

/* The declaration of variables, behind the linkage; the token is the state space. Pushes statements
 * or items. */
bool ptx_read_variables(struct ptx_parser *p, enum ptx_linkage linkage);
bool ptx_read_parameter(struct ptx_parser *p, bool named, struct ptx_variable **v);
bool ptx_read_registers(struct ptx_parser *p);
/* Makes the registers and their names, by a statement of the body. */
bool ptx_declare_registers(struct ptx_parser *p, struct loc where, struct ptx_registers *range);
bool ptx_read_function(struct ptx_parser *p, enum ptx_linkage linkage);
/* Braces within a body, and the scope of the names between them. */
bool ptx_open_block(struct ptx_parser *p, struct loc where);
void ptx_close_block(struct ptx_parser *p);
bool ptx_read_instruction(struct ptx_parser *p);
bool ptx_read_section(struct ptx_parser *p);
/* Behind the name of a vector of registers: one of its elements, or all of them. */
bool ptx_read_vector(struct ptx_parser *p, const struct ptx_registers *range, uint32_t first,
                     struct ptx_operand *o);
/* %tid: its three parts and a zero. False, nothing taken, if the token is no such name. */
bool ptx_read_special_vector(struct ptx_parser *p, struct ptx_operand *o);
/* Finds its form and adds it to the function. */
void ptx_push_instruction(struct ptx_parser *p, struct loc where, struct ptx_instruction *ins);
/* mov of a vector, as one mov for each element. */
bool ptx_push_vector_mov(struct ptx_parser *p, struct loc where, const struct ptx_instruction *ins);
void ptx_push(struct ptx_parser *p, struct ptx_statement statement);

/* The .loc of an inlined function's call, which has an earlier one of its own. */
void ptx_link_line(struct ptx_parser *p, struct ptx_line *line);
/* Turns lines of headers into lines of the program, once the names of the module's files are known. */
void ptx_settle_lines(struct ptx_module *m);

#endif
