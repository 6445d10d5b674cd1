/* Members whose results may differ from run to run: they combine floats by atomics, and the order
 * of blocks decides how the sums are rounded. */
#include "api/family.h"

/* Checks a member with the family's types and with `size` for all statics. NULL: it does not
 * compile. */
static const struct kernel *check_with(tw_family *f, const tw_kernel *k, int64_t size)
{
    const struct lang_kernel *info = k->info;
    struct arena *a = &f->own->scratch;
    enum dtype *types = arena_array(a, enum dtype, info->type_count + 1);
    struct literal *statics = arena_array(a, struct literal, info->param_count + 1);
    bool *known = arena_array(a, bool, info->param_count + 1);
    struct diag quiet;
    diag_init(&quiet, a);
    for (int t = 0; t < info->type_count; t++) {
        int own = family_type_named(f->members[0].kernel->info, info->types[t].name);
        types[t] = own < 0 ? info->types[t].choices[0] : (enum dtype)f->types[own];
    }
    for (int p = 0; p < info->param_count; p++) {
        known[p] = info->params[p].is_static;
        statics[p] = (struct literal){.i = size};
    }
    const struct lang_choice choice = {
        .target = k->target, .types = types, .statics = statics, .statics_known = known};
    return lang_check(a, &quiet, k->module->parsed, k->index, &choice);
}

bool family_varies(tw_family *f, int member)
{
    static const int sizes[] = {1024, 16}; /* large tiles, and statics that are tiles */
    const struct kernel *checked = NULL;
    for (int i = 0; i < 2 && !checked; i++)
        checked = check_with(f, f->members[member].own, sizes[i]);
    return !checked || kernel_order_matters(checked);
}
