#include "api/pass_order.h"
#include "synccheck/synccheck.h"

#include <assert.h>
#include <string.h>

const struct pass pass_order_list[] = {
    {EVERY_KERNEL, "variance", pass_variance, "marks values that differ between threads"},
    {EVERY_KERNEL, "specialise", pass_specialise,
     "constants, tuned values and static parameters become literals"},
    {EVERY_KERNEL, "contract", pass_contract,
     "products that feed sums become fma, or the summand of dot"},
    {EVERY_KERNEL, "fold", pass_fold, "constant folding, dead branches"},
    {EVERY_KERNEL, "synccheck", synccheck_pass, "the static synchronisation check"},
    {EVERY_KERNEL, "masks", pass_masks, "slices that provably lie inside need no masks"},
    {WITHOUT_ROLES, "pipeline", pass_pipeline, "pipelines become loops with stages, on a GPU"},
    {WITHOUT_ROLES, "split", pass_split,
     "tiles that are read in parts become one for each part, on the host"},
    {WITHOUT_ROLES, "dots", pass_dots,
     "loops that add products of one step become loops of dot, on the host"},
    {WITHOUT_ROLES, "operands", pass_operands,
     "parts of views that products read get names, on the host"},
    {WITHOUT_ROLES, "deepen", pass_deepen,
     "several turns of loops of products become one, on the host"},
    {WITHOUT_ROLES, "join", pass_join,
     "neighbouring blocks become one with larger tiles, on the host"},
    {EVERY_KERNEL, "barriers", pass_barriers,
     "barriers between operations on global memory, on a GPU"},
    {EVERY_KERNEL, "fences", pass_fences,
     "fences before copies and products in the background read, on a GPU"},
    {EVERY_KERNEL, "plan", pass_plan, "gives each shared tile its place"},
    {WITHOUT_ROLES, "rows", pass_rows, "marks rows that one pass can compute with their sum"},
    {WITHOUT_ROLES, "products", pass_products, "marks loops that only sum products"},
};
const int pass_order_count = (int)(sizeof pass_order_list / sizeof pass_order_list[0]);

static void verify(const struct kernel *k)
{
#ifndef NDEBUG
    const char *problem = kernel_verify(k->arena, k);
    assert(problem == NULL);
#endif
    (void)k;
}

bool pass_order_run(struct pass_context *c, const char *last)
{
    verify(c->kernel);
    bool roles = kernel_uses_roles(c->kernel);
    for (int i = 0; i < pass_order_count; i++) {
        int errors = c->diag->errors;
        if (!roles || pass_order_list[i].kernels == EVERY_KERNEL)
            pass_order_list[i].run(c);
        if (c->diag->errors > errors) {
            c->refused_by = pass_order_list[i].run;
            return false;
        }
        verify(c->kernel);
        if (last && strcmp(pass_order_list[i].name, last) == 0)
            return true;
    }
    return true;
}
