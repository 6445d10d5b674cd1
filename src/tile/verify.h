/* Shared by the files of the verifier, which stops at the first fault. */
#ifndef TW_TILE_VERIFY_H
#define TW_TILE_VERIFY_H

#include "tile/numbering.h"

struct verifier {
    struct arena *arena;
    const struct kernel *kernel;
    const char *problem; /* NULL: none so far */
    struct numbering numbers;
    bool *visible;                 /* by number: declared and in scope */
    VEC(const struct sym *) scope; /* declared symbols in scope, the latest last */
    int loops;                     /* number of loops around the present statement */
    bool in_ensures;
    const struct expr *whole; /* the value of the present statement or scalar declaration */
};

/* Records the first problem, of e if it is not NULL. Returns false. */
bool verifier_fail(struct verifier *v, const struct expr *e, const char *what);
/* Returns `holds`; if it is false, records the problem. */
bool verifier_check(struct verifier *v, const struct expr *e, bool holds, const char *what);
/* Returns true if the expression and its operands are well formed. */
bool verifier_expr(struct verifier *v, const struct expr *e, bool is_statement);

/* Returns true if the symbol is declared and in scope. */
bool verifier_sees(const struct verifier *v, const struct sym *s);
/* Opens the scope of a declared symbol. */
void verifier_open(struct verifier *v, const struct sym *s);
/* Closes the scopes of the latest symbols; leaves the first `outer` open. */
void verifier_close_scope(struct verifier *v, size_t outer);

/* Returns true if a value of shape `from` broadcasts to exactly `to`. */
bool verifier_fits(const struct type *to, const struct type *from);
/* Returns true if e is an access to a symbol of that storage. */
bool verifier_is_part(const struct expr *e, enum storage storage);
bool verifier_is_mbarrier(const struct expr *e);

#endif
