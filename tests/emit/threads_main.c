/* The tool, whose kernels of single threads, and those of tiles without roles, go through thread IR: the linker gives
 * calls of emit_kernel to this file. */
#include "emit/emit.h"

bool __real_emit_kernel(struct arena *a, struct kernel *k, const struct lower_options *options,
                        struct diag *diag, struct lowered *out);
bool __wrap_emit_kernel(struct arena *a, struct kernel *k, const struct lower_options *options,
                        struct diag *diag, struct lowered *out);

bool __wrap_emit_kernel(struct arena *a, struct kernel *k, const struct lower_options *options,
                        struct diag *diag, struct lowered *out)
{
    return !kernel_uses_roles(k) ? emit_thread_level(a, k, options, diag, out)
                                 : __real_emit_kernel(a, k, options, diag, out);
}
