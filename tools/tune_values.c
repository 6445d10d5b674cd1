/* Creates the arrays for tuning, and computes their expected values.
 *
 * `ensures` judges the values of every candidate. The expected values are computed once, here,
 * before the measuring processes are forked. If that would take too long at the sizes to tune
 * for, the run-time sizes that are axes of arrays are made smaller. The judged program is the
 * same, because only static values and the divisibility of sizes by 16 are compiled in. */
#include "settings.h"
#include "tune.h"

#include <stdlib.h>
#include <string.h>

static const double most_work = 4e9;     /* product of all sizes: about a second on a few cores */
static const double most_results = 2e6;  /* compared elements for each candidate */
enum { LEAST_SIZE = 272, DIVISOR = 16 }; /* some tiles of most kernels, and a partial one */

static bool is_axis(tw_kernel *k, const char *name)
{
    tw_param p = tw_param_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        for (int d = 0; p.is_pointer && d < p.rank; d++)
            if (strcmp(p.dims[d], name) == 0)
                return true;
    return false;
}

static double work(tw_launch *l, tw_kernel *k)
{
    double product = 1;
    tw_param p = tw_param_init();
    tw_value v;
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (!p.is_pointer && is_axis(k, p.name) && tw_launch_value(l, p.name, &v) == TW_OK &&
            v.kind != TW_FLOAT && v.i > 0)
            product *= (double)v.i;
    return product;
}

static double results(tw_launch *l, tw_kernel *k)
{
    double elements = 0;
    tw_param p = tw_param_init();
    tw_array a = tw_array_init();
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++)
        if (p.is_pointer && !p.is_const && tw_launch_shape(l, p.name, &a) == TW_OK) {
            double own = 1;
            for (int d = 0; d < a.rank; d++)
                own *= (double)a.shape[d];
            elements += own;
        }
    return elements;
}

/* Halves the largest size that is not compiled in. Returns false if no size can be smaller. */
static bool shrink(tw_launch *l, tw_kernel *k)
{
    tw_param p = tw_param_init();
    tw_value v, largest = {.i = LEAST_SIZE};
    char name[64] = "";
    for (int i = 0; tw_kernel_param(k, i, &p) == TW_OK; i++) {
        if (p.is_pointer || p.is_static || p.derived || !is_axis(k, p.name) ||
            tw_launch_value(l, p.name, &v) != TW_OK || v.kind == TW_FLOAT || v.i <= largest.i)
            continue;
        largest = v;
        snprintf(name, sizeof name, "%s", p.name);
    }
    if (!*name)
        return false;
    bool divides = largest.i % DIVISOR == 0;
    largest.i = largest.i / 2 > LEAST_SIZE ? largest.i / 2 : LEAST_SIZE;
    largest.i = divides ? largest.i / DIVISOR * DIVISOR : largest.i | 1;
    return tw_launch_set(l, name, largest) == TW_OK;
}

static bool is_large(tw_launch *l, tw_kernel *k)
{
    return work(l, k) > most_work || results(l, k) > most_results;
}

/* Omits --tune, which lists candidates; only the other options go to a launch. */
int tune_settings(const struct tuning *t, tw_launch *l)
{
    struct options some = *t->given;
    some.uses = need_memory((size_t)(some.use_count + 1) * sizeof *some.uses);
    some.use_count = 0;
    for (int i = 0; i < t->given->use_count; i++)
        if (strcmp(t->given->uses[i].spec->name, "tune") != 0)
            some.uses[some.use_count++] = t->given->uses[i];
    int status = apply_settings(l, t->kernel, &t->program, &some, false);
    free(some.uses);
    return status;
}

/* Prepares t->judged, a launch at the sizes for verification. Sets *smaller if these are smaller
 * than the sizes to tune for. */
static int choose_sizes(struct tuning *t, const struct candidate *c, bool *smaller)
{
    *smaller = false;
    tw_launch_free(t->judged);
    tw_status s = tw_launch_new(t->kernel, &t->judged);
    int status = s == TW_OK ? tune_settings(t, t->judged) : STATUS_FAILED;
    if (status == STATUS_OK)
        s = candidate_apply(c, t->kernel, t->judged);
    if (s != TW_OK)
        complain_library(NULL, t->program.ctx, s);
    while (status == STATUS_OK && s == TW_OK && !t->exact && is_large(t->judged, t->kernel) &&
           shrink(t->judged, t->kernel))
        *smaller = true;
    if (status != STATUS_OK || s != TW_OK || !*smaller || tw_launch_prepare(t->judged) == TW_OK)
        return s == TW_OK ? status : STATUS_FAILED;
    t->exact = true; /* the kernel refuses smaller sizes */
    return choose_sizes(t, c, smaller);
}

static int make_operands(struct tuning *t, tw_launch *l, struct operands *x)
{
    tw_status s = operands_make(x, l, t->kernel, 1, 1);
    if (s == TW_OK)
        return STATUS_OK;
    if (s != TW_NO_MEMORY || !operands_say_no_memory(x, NULL))
        complain_library(NULL, t->program.ctx, s);
    return STATUS_USAGE;
}

static int share_operands(struct tuning *t)
{
    tw_status s = TW_OK;
    for (int i = 0; i < t->arrays.count && s == TW_OK; i++)
        s = tw_launch_array(t->judged, t->arrays.list[i].param.name, &t->arrays.list[i].array);
    if (s != TW_OK)
        complain_library(NULL, t->program.ctx, s);
    return s == TW_OK ? STATUS_OK : STATUS_FAILED;
}

/* Computes the expected values. The verdict on arrays that no kernel has written does not
 * matter, but the computation yields the values. */
static int find_expected(struct tuning *t)
{
    if (!tw_kernel_has_ensures(t->kernel)) {
        complain(NULL, "%s has no `ensures`: values are not verified", tw_kernel_name(t->kernel));
        return STATUS_OK;
    }
    tw_status s = tw_expected_new(t->program.ctx, &t->expected);
    if (s == TW_OK)
        s = tw_launch_verify_by(t->judged, t->expected, NULL);
    if (s == TW_OK || s == TW_WRONG_VALUES)
        return STATUS_OK;
    complain_library(NULL, t->program.ctx, s);
    if (s != TW_UNSUPPORTED)
        return STATUS_FAILED;
    complain_more(NULL, "values are not verified");
    tw_expected_free(t->expected);
    t->expected = NULL;
    return STATUS_OK;
}

/* Checks for a cache. Without it, the compiling processes have no place for their results. */
static void look_for_cache(const struct tuning *t)
{
    tw_cache cache = tw_cache_init();
    if (!t->on_gpu || tw_context_cache(t->program.ctx, &cache) != TW_OK ||
        (cache.folder && !cache.trouble))
        return;
    complain(NULL,
             "assembled kernels are not kept%s%s (TILEWRIGHT_CACHE names a folder): each is "
             "assembled again where it is measured",
             cache.trouble ? ", " : "", cache.trouble ? cache.trouble : "");
}

int tune_prepare_values(struct tuning *t, const struct candidate *c)
{
    tw_status s = candidate_apply(c, t->kernel, t->launch);
    if (s != TW_OK) {
        complain_library(NULL, t->program.ctx, s);
        return STATUS_FAILED;
    }
    bool smaller;
    look_for_cache(t);
    int status = choose_sizes(t, c, &smaller);
    if (status == STATUS_OK)
        status = make_operands(t, t->launch, &t->arrays);
    if (status == STATUS_OK)
        status = smaller ? make_operands(t, t->judged, &t->judged_arrays) : share_operands(t);
    return status == STATUS_OK ? find_expected(t) : status;
}
