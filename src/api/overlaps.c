/* Arrays of a launch that share memory: refuses them, or keeps the inputs that `ensures` needs. */
#include "api/objects.h"

#include <inttypes.h>

struct extent {
    uintptr_t from, end;
    tw_place place;
};

static struct extent extent_of(const tw_array *x)
{
    uintptr_t from = (uintptr_t)x->data;
    return (struct extent){from, from + (uintptr_t)launch_array_length(x) * tw_dtype_size(x->dtype),
                           x->place};
}

bool overlaps_of_arrays(const tw_launch *l, int p, int q)
{
    if (!l->array_set[p] || !l->array_set[q])
        return false;
    struct extent x = extent_of(&l->arrays[p]), y = extent_of(&l->arrays[q]);
    return x.place == y.place && x.from < y.end && y.from < x.end;
}

bool overlaps_is_in(uint64_t set, int p)
{
    return p < OVERLAY_PARAMS && (set >> p & 1);
}

/* --- refusals --- */

static const char *reason(const tw_launch *l, int other)
{
    return overlaps_is_in(l->variant->overlay.multiplied, other)
               ? "which is an operand of a product"
               : "whose elements the kernel also needs for elements at other places";
}

void launch_refuse_overlap(tw_launch *l, int written, int other)
{
    const struct lang_param *params = l->kernel->info->params;
    struct diag *d = &l->ctx->diag;
    const char *w = params[written].name, *o = params[other].name;
    struct extent x = extent_of(&l->arrays[written]), y = extent_of(&l->arrays[other]);
    uintptr_t from = x.from > y.from ? x.from : y.from, end = x.end < y.end ? x.end : y.end;
    if (l->array_set[written] && l->array_set[other] && from < end)
        diag_error(d, LOC_NONE,
                   "array `%s`, which the kernel writes, overlaps array `%s`, %s: bytes %" PRIuPTR
                   " to %" PRIuPTR " of `%s` are bytes %" PRIuPTR " to %" PRIuPTR " of `%s`",
                   w, o, reason(l, other), from - x.from, end - x.from - 1, w, from - y.from,
                   end - y.from - 1, o);
    else
        diag_error(d, LOC_NONE,
                   "array `%s`, which the kernel writes, has the address of array `%s`, %s", w, o,
                   reason(l, other));
    diag_code(d, CODE_ARGUMENT);
    diag_note(d, LOC_NONE,
              "give `%s` memory of its own; tw_launch_allow_overlap (in Python "
              "with_(overlap=True)) allows the overlap",
              w);
}

tw_status launch_check_overlaps(tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    const struct overlay *o = &l->variant->overlay;
    int count = info->param_count < OVERLAY_PARAMS ? info->param_count : OVERLAY_PARAMS;
    for (int p = 0; p < count && !l->allows_overlap; p++)
        for (int q = 0; q < count; q++) {
            bool both = !info->params[q].is_const;
            if (p == q || info->params[p].is_const || (both && q < p) ||
                !overlaps_is_in(o->used, p) || !overlaps_is_in(o->used, q) ||
                !overlaps_of_arrays(l, p, q))
                continue;
            bool shifted = l->arrays[p].data != l->arrays[q].data &&
                           !overlaps_is_in(o->strided, p) && !overlaps_is_in(o->strided, q);
            if (!shifted && !overlaps_is_in(o->apart[p], q) &&
                !(both && overlaps_is_in(o->apart[q], p)))
                continue;
            launch_refuse_overlap(l, p, q);
            return TW_BAD_ARGUMENT;
        }
    return TW_OK;
}

tw_status tw_launch_allow_overlap(tw_launch *l, bool allow)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    l->allows_overlap = allow;
    return TW_OK;
}

/* --- inputs for `ensures` --- */

tw_status tw_launch_keep_inputs(tw_launch *l, bool keep)
{
    if (!l)
        return TW_BAD_ARGUMENT;
    l->keeps_inputs = keep;
    return TW_OK;
}

/* Notes that wrong values may not be an error of the kernel: `ensures` cannot read an array that
 * another one was written over. */
void launch_note_overlaps(tw_launch *l)
{
    const struct lang_kernel *info = l->kernel->info;
    for (int p = 0; p < info->param_count; p++)
        for (int q = 0; q < info->param_count; q++) {
            const struct lang_param *written = &info->params[p], *other = &info->params[q];
            bool both = !other->is_const;
            if (p == q || written->is_const || (both && q < p) || !overlaps_of_arrays(l, p, q) ||
                !overlaps_is_in(l->variant->overlay.used, p) || (l->kept && l->kept[q]))
                continue;
            diag_note(
                &l->ctx->diag, LOC_NONE,
                "array `%s` overlaps array `%s`, which the kernel %s: `ensures` was evaluated "
                "with what was left there; tw_launch_keep_inputs before the run keeps a copy, "
                "and memory of its own needs none",
                written->name, other->name, both ? "may write too" : "reads");
        }
}
