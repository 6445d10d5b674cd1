/* A program as text, checked, taken through passes, and shown as text again. */
#ifndef TW_PASS_HELPER_H
#define TW_PASS_HELPER_H

#include "base/text.h"
#include "lang/lang.h"
#include "tile/passes.h"

struct program {
    struct arena arena;
    struct diag diag;
    struct source source;
    struct module *module;
    struct kernel *kernel; /* NULL: errors */
    const char *name;      /* path of the text, for its imports; NULL: none */
    int64_t statics;       /* the value of every static integer parameter; 0: none is known */
    int divisor;           /* of every run-time integer, known at launch; 0: nothing known */
    const char *target;
    int sm; /* of a GPU: passes for it; 0: the host */
};

/* All live until program_free(). `name`, `statics`, `divisor`, `target` and `sm` are the caller's to set
 * before. */
void program_open(struct program *p, const char *text);
int program_kernels(const struct program *p);
/* Checks kernel `index` anew. false: errors, in p->diag. */
bool program_check(struct program *p, int index);
/* Passes up to and including `last`. */
bool program_passes(struct program *p, const char *last);
bool program_pass(struct program *p, const char *name); /* that one alone */
const char *program_text(struct program *p);
/* Diagnostics, one a line: "line: error: text"; notes behind " | ". */
const char *program_messages(struct program *p);
void program_free(struct program *p);

/* kernel_print's text without what only comments tell. */
const char *without_comments(struct arena *a, const char *text);

#endif
