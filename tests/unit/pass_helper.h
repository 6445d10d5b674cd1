/* Takes a program as text through the checker and the passes, and prints it as text again. */
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
    int divisor;           /* a divisor of every run-time integer, known at launch; 0: none known */
    const char *target;
    int sm; /* the GPU to run passes for; 0: the host */
};

/* All memory lives until program_free(). The caller sets `name`, `statics`, `divisor`, `target`
 * and `sm` before. */
void program_open(struct program *p, const char *text);
int program_kernels(const struct program *p);
/* Checks kernel `index` again. Returns false after errors, which are in p->diag. */
bool program_check(struct program *p, int index);
/* Runs the passes up to and including `last`. */
bool program_passes(struct program *p, const char *last);
bool program_pass(struct program *p, const char *name); /* that one alone */
const char *program_text(struct program *p);
/* Returns the diagnostics, one a line: "line: error: text"; notes follow after " | ". */
const char *program_messages(struct program *p);
void program_free(struct program *p);

/* Returns kernel_print's text without comments. */
const char *without_comments(struct arena *a, const char *text);

#endif
