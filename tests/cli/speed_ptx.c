/* Times text to PTX: the best of several compilations, each in a context of its own, of every
 * kernel of every file for each of its types and each target; in milliseconds, one line each.
 *
 *     speed_ptx RUNS TARGET,TARGET… NAME=VALUE,NAME=VALUE… ONLY FILE…
 *
 * The values are those of scalar parameters; a parameter without one is 4096. Each kernel is
 * compiled with the default of its tuned values and with the largest ones, unless these do not
 * fit the target. The time is the processor's, so load on the machine counts little; the process
 * keeps memory that it has got, as in a program that compiles a second kernel. ONLY is the text
 * of a line after its time: then only that line's kernel is compiled; or "". */
#include "tilewright.h"
#include "tilewright_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

struct task {
    const char *path, *values, *target;
    int kernel, type; /* indices */
    bool largest;     /* tuned values */
};

static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Finds the value that `values` gives for a name. */
static bool find_value(const char *values, const char *name, tw_value *out)
{
    size_t length = strlen(name);
    for (const char *at = values; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            long number = strtol(at + length + 1, NULL, 10);
            *out = tw_int(number);
            return true;
        }
    return false;
}

static bool is_tuned(const tw_kernel *k, int index, tw_tune *tune)
{
    return tw_kernel_tune(k, index, tune) == TW_OK;
}

/* Returns the row of a group of tuned names whose values have the greatest product. */
static int largest_row(const tw_kernel *k, int group, int rows)
{
    double most = 0;
    int best = 0;
    for (int row = 0; row < rows; row++) {
        double product = 1;
        tw_tune tune = tw_tune_init();
        for (int i = 0; is_tuned(k, i, &tune); i++)
            product *= tune.group == group ? (double)tune.values[row].i : 1;
        if (product > most) {
            most = product;
            best = row;
        }
    }
    return best;
}

static tw_status set_values(const struct task *t, const tw_kernel *k, tw_launch *l)
{
    tw_status s = TW_OK;
    tw_param p = tw_param_init();
    tw_tune tune = tw_tune_init();
    tw_type type = tw_type_init();
    for (int i = 0; s == TW_OK && tw_kernel_param(k, i, &p) == TW_OK; i++) {
        bool is_float = p.dtype <= TW_BF16;
        tw_value value = is_float ? tw_float(0.5) : tw_int(4096);
        if (find_value(t->values, p.name, &value) && is_float)
            value = tw_float((double)value.i);
        if (!p.is_pointer && !p.derived)
            s = tw_launch_set(l, p.name, value);
    }
    for (int i = 0; s == TW_OK && t->largest && is_tuned(k, i, &tune); i++)
        s = tw_launch_tune(l, tune.name, tune.values[largest_row(k, tune.group, tune.count)]);
    if (s == TW_OK && tw_kernel_type(k, 0, &type) == TW_OK)
        s = tw_launch_type(l, type.name, type.choices[t->type]);
    return s;
}

/* Compiles one kernel, from text to PTX. */
static tw_status compile(const struct task *t, tw_context *ctx)
{
    tw_module *m;
    tw_kernel *k;
    tw_launch *l;
    const char *text;
    tw_status s = tw_module_from_file(ctx, t->path, &m);
    if (s == TW_OK)
        s = tw_kernel_for_target(tw_module_kernel_at(m, t->kernel), t->target, &k);
    if (s == TW_OK)
        s = tw_launch_new(k, &l);
    if (s == TW_OK)
        s = set_values(t, k, l);
    return s == TW_OK ? tw_launch_show_stage(l, TW_STAGE_PTX, &text) : s;
}

/* Returns the least time of `runs`; below 0 if it does not compile. */
static double least_time(const struct task *t, int runs)
{
    double best = 1e9;
    for (int run = 0; run < runs; run++) {
        tw_context *ctx;
        double start = milliseconds();
        if (tw_context_new(NULL, &ctx) != TW_OK)
            return -1;
        bool good = compile(t, ctx) == TW_OK;
        double taken = milliseconds() - start;
        tw_context_free(ctx);
        if (!good)
            return -1;
        best = taken < best ? taken : best;
    }
    return best;
}

/* Times all types of a kernel, or `only` one; the names are from a module of their own. */
static void time_kernel(struct task t, const tw_kernel *k, int runs, const char *only)
{
    tw_type type = tw_type_init();
    bool typed = tw_kernel_type(k, 0, &type) == TW_OK;
    for (int i = 0; i < 2 * (typed ? type.count : 1); i++) {
        t.type = i / 2;
        t.largest = i % 2;
        char what[4096];
        snprintf(what, sizeof what, "%s:%s %s %s %s", t.path, tw_kernel_name(k),
                 typed ? tw_dtype_name(type.choices[t.type]) : "-", t.target,
                 t.largest ? "largest" : "default");
        double taken = *only && strcmp(only, what) != 0 ? -1 : least_time(&t, runs);
        if (taken >= 0)
            printf("%.3f %s\n", taken, what);
    }
}

static bool time_file(const char *path, const char *targets, const char *values, int runs,
                      const char *only)
{
    tw_context *ctx;
    tw_module *m;
    bool good = tw_context_new(NULL, &ctx) == TW_OK;
    good = good && tw_module_from_file(ctx, path, &m) == TW_OK;
    for (const char *at = targets; good && at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char target[32];
        snprintf(target, sizeof target, "%.*s", (int)strcspn(at, ","), at);
        for (int i = 0; i < tw_module_kernel_count(m); i++)
            time_kernel((struct task){path, values, target, i, 0, false}, tw_module_kernel_at(m, i),
                        runs, only);
    }
    tw_context_free(ctx);
    return good;
}

static void keep_memory(void)
{
#ifdef __GLIBC__
    enum { PLENTY = 64 << 20 };
    mallopt(M_MMAP_THRESHOLD, PLENTY);
    mallopt(M_TRIM_THRESHOLD, PLENTY);
#endif
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 2;
    keep_memory();
    for (int i = 5; i < argc; i++)
        if (!time_file(argv[i], argv[2], argv[3], atoi(argv[1]), argv[4]))
            return 1;
    return 0;
}
