/* Declarations that the files of the verifier share. */
#ifndef TW_PTX_VERIFIER_H
#define TW_PTX_VERIFIER_H

#include "ptx/ptx.h"
#include "ptx/ptx_choose.h"

struct ptx_verifier {
    struct arena *arena;
    struct diag *diag; /* NULL: only sets `complaint` */
    struct ptx_target target;
    int version; /* 0: as needed */
    const struct ptx_function *function;
    /* the instruction being checked */
    const struct ptx_instruction *instruction;
    struct loc where;
    const char *complaint; /* the first */
};

/* Reports an error at the instruction, or at the variable or function that is being checked.
 * Quotes the instruction if it has no place in a text. */
void ptx_complain(struct ptx_verifier *v, const char *format, ...) DIAG_FORMAT(2, 3);
void ptx_warn(struct ptx_verifier *v, const char *format, ...) DIAG_FORMAT(2, 3);

/* "add.s32" */
const char *ptx_mnemonic(struct arena *a, const struct ptx_instruction *ins);
/* Explain why no form of the table takes the instruction's modifiers, or its operands. */
void ptx_explain_modifiers(struct ptx_verifier *v);
void ptx_explain_operands(struct ptx_verifier *v, const struct ptx_form *form);

void ptx_verify_instruction(struct ptx_verifier *v, const struct ptx_instruction *ins,
                            struct loc where);
void ptx_verify_operands(struct ptx_verifier *v, const struct ptx_choice *choice);
void ptx_verify_call(struct ptx_verifier *v);
/* Reports constants that are outside the range of the instruction. */
void ptx_verify_ranges(struct ptx_verifier *v);

void ptx_verify_variable(struct ptx_verifier *v, const struct ptx_variable *x);
/* Checks the size of all constants of a module together. */
void ptx_verify_constants(struct ptx_verifier *v, const struct ptx_module *m);

#endif
