/* Compares explain's predictions for an H200 with readings of one.
 *
 *     against_h200 READINGS KERNELS    (tests/model/h200/readings_h200.csv, kernels)
 *
 * Prints a row for each reading; exits with 1 if too many are too far off. Registers are those
 * that ptxas chose, because the readings are of its code. */
#include "tilewright.h"
#include "tilewright_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits for each reading, and for nine in ten. */
static const double most_off = 0.35, mostly_off = 0.25, most_l2_off = 0.15, most_hbm_off = 0.25;
static const double points = 5; /* hundredths by which two parts may differ */

enum { PARTS = 8 };
static const char *const parts[PARTS] = {"shared", "L2",  "L2 requests", "HBM",
                                         "issue",  "fma", "tensor",      "load/store"};

struct reading {
    char kernel[64], dtype[8];
    int size, registers;
    double milliseconds, l2, hbm, busy[PARTS];
};

struct sums {
    int rows, near, near_time, parts, l2, hbm;
};

static bool read_row(const char *line, struct reading *r)
{
    double *b = r->busy;
    return sscanf(line, "%63[^,],%7[^,],%d,%d,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf",
                  r->kernel, r->dtype, &r->size, &r->registers, &r->milliseconds, &r->l2, &r->hbm,
                  &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &b[7]) == 7 + PARTS;
}

static tw_status explain(tw_context *ctx, const char *kernels, const struct reading *r,
                         tw_explanation *out, tw_module **module)
{
    static const char *const sizes[] = {"m", "n", "k"};
    char path[512];
    tw_kernel *k;
    tw_launch *l;
    tw_type type = tw_type_init();
    tw_explain_options options = {.size = sizeof options, .gpu = "H200", .registers = r->registers};
    snprintf(path, sizeof path, "%s/%s.tile", kernels, r->kernel);
    tw_status status = tw_module_from_file(ctx, path, module);
    if (status == TW_OK)
        status = tw_kernel_for_target(tw_module_kernel_at(*module, 0), "sm_90", &k);
    if (status == TW_OK)
        status = tw_launch_new(k, &l);
    if (status != TW_OK)
        return status;
    for (int i = 0; i < 3; i++)
        tw_launch_set(l, sizes[i], tw_int(r->size));
    if (tw_kernel_type(k, 0, &type) == TW_OK)
        tw_launch_type(l, type.name, tw_dtype_from_name(r->dtype));
    return tw_launch_explain(l, &options, out);
}

static double off(double predicted, double read)
{
    return predicted / read - 1;
}

static double busy_of(const struct reading *r, const char *part)
{
    for (int i = 0; i < PARTS; i++)
        if (strcmp(parts[i], part) == 0)
            return r->busy[i];
    return 0;
}

static bool judge(const struct reading *r, const tw_explanation *x, struct sums *s)
{
    double time = off(x->seconds.middle * 1e3, r->milliseconds);
    const tw_traffic *hbm = &x->traffic[TW_AT_HBM];
    double l2 = off(x->traffic[TW_AT_L2].read.middle, r->l2), h = off(hbm->read.middle, r->hbm);
    double busiest = 0;
    for (int i = 0; i < PARTS; i++)
        busiest = fmax(busiest, r->busy[i]);
    bool part = busy_of(r, x->roofs[0].name) >= busiest - points;
    s->rows++;
    s->near_time += fabs(time) <= mostly_off;
    s->parts += part;
    s->l2 += fabs(l2) <= most_l2_off;
    s->hbm += fabs(h) <= most_hbm_off || (r->hbm >= hbm->read.low && r->hbm <= hbm->read.high);
    printf("%-22s %s %d %9.4f ms %+4.0f%%  L2 %+4.0f%%  HBM %+4.0f%%  %s%s\n", r->kernel, r->dtype,
           r->size, r->milliseconds, 100 * time, 100 * l2, 100 * h, x->roofs[0].name,
           part ? "" : ": another part is busier");
    return fabs(time) <= most_off;
}

/* Checks that at least `least` hundredths of the rows hold. */
static bool holds(const char *what, int count, int rows, int least)
{
    bool good = 100 * count >= least * rows;
    printf("%s: %d of %d%s\n", what, count, rows, good ? "" : ", too few");
    return good;
}

int main(int argc, char **argv)
{
    char line[512];
    struct reading r;
    struct sums s = {0};
    bool good = true;
    tw_context *ctx = NULL;
    FILE *in = argc == 3 ? fopen(argv[1], "r") : NULL;
    if (!in || tw_context_new(NULL, &ctx) != TW_OK) {
        fputs("usage: against_h200 READINGS KERNELS\n", stderr);
        return 2;
    }
    while (fgets(line, sizeof line, in)) {
        tw_explanation x = tw_explanation_init();
        tw_module *module = NULL;
        if (!read_row(line, &r))
            continue; /* the names of the columns */
        if (explain(ctx, argv[2], &r, &x, &module) != TW_OK) {
            printf("%s: %s\n", r.kernel, tw_context_messages(ctx));
            good = false;
        } else if (!judge(&r, &x, &s)) {
            good = false;
        }
        tw_module_free(module);
    }
    fclose(in);
    tw_context_free(ctx);
    good = holds("time within 25%", s.near_time, s.rows, 90) && good;
    good = holds("the busiest part", s.parts, s.rows, 90) && good;
    good = holds("bytes of L2 within 15%", s.l2, s.rows, 100) && good;
    good = holds("bytes of HBM within 25%, or in their range", s.hbm, s.rows, 100) && good;
    return good && s.rows > 0 ? 0 : 1;
}
