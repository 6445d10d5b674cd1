/* The tool, whose kernels of single threads, and those of tiles without roles and products, go through thread IR: the linker gives
 * calls of emit_kernel to this file. */
#include "emit/emit.h"

bool __real_emit_kernel(struct arena *a, struct kernel *k, const struct lower_options *options,
                        struct diag *diag, struct lowered *out);
bool __wrap_emit_kernel(struct arena *a, struct kernel *k, const struct lower_options *options,
                        struct diag *diag, struct lowered *out);

static void note_product(void *user, struct expr **at)
{
    *(bool *)user |= (*at)->op == OP_DOT;
}

static void note_products(void *user, struct stmt *s)
{
    statement_expressions(s, note_product, user);
}

bool __wrap_emit_kernel(struct arena *a, struct kernel *k, const struct lower_options *options,
                        struct diag *diag, struct lowered *out)
{
    bool products = false;
    stmt_walk(k->body, note_products, &products);
    return (kernel_thread_level(k) || !products) && !kernel_uses_roles(k)
               ? emit_thread_level(a, k, options, diag, out)
               : __real_emit_kernel(a, k, options, diag, out);
}
