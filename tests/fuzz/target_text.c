/* Compiles a text; runs each of its kernels on small arrays, shows it, and compiles it for a
 * GPU. */
#include "fuzz_target.h"
#include "tilewright_look.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE = 5, ARRAYS = 16, ARRAY_BYTES = 1 << 16, KERNELS = 3 };

static unsigned char memory[ARRAYS][ARRAY_BYTES];

static void give_scalar(tw_launch *l, const tw_param *p)
{
    if (tw_launch_set(l, p->name, tw_int(SIZE)) != TW_OK)
        tw_launch_set(l, p->name, tw_float(0.5));
}

/* Gives an array of the shape that the kernel wants, if that is small. */
static void give_array(tw_launch *l, const tw_param *p, void *data)
{
    tw_array x = tw_array_init();
    if (tw_launch_shape(l, p->name, &x) != TW_OK)
        return;
    size_t bytes = tw_dtype_size(x.dtype);
    for (int i = 0; i < x.rank; i++)
        if (x.shape[i] < 0 || (x.shape[i] > 0 && (bytes *= (size_t)x.shape[i]) > ARRAY_BYTES))
            return;
    x.data = data;
    tw_launch_array(l, p->name, &x);
}

static void give(tw_launch *l, tw_kernel *k)
{
    tw_param p = tw_param_init();
    for (int i = 0; i < tw_kernel_param_count(k); i++)
        if (tw_kernel_param(k, i, &p) == TW_OK && !p.is_pointer)
            give_scalar(l, &p);
    for (int i = 0; i < tw_kernel_param_count(k) && i < ARRAYS; i++)
        if (tw_kernel_param(k, i, &p) == TW_OK && p.is_pointer)
            give_array(l, &p, memory[i]);
}

static void run(tw_kernel *k)
{
    tw_launch *l;
    const char *text;
    tw_verdict verdict = tw_verdict_init();
    if (tw_launch_new(k, &l) != TW_OK)
        return;
    give(l, k);
    if (tw_launch_run(l) == TW_OK)
        tw_launch_verify(l, &verdict);
    tw_launch_show(l, NULL, &text);
    tw_launch_free(l);
}

static void lower(tw_kernel *k)
{
    tw_kernel *gpu;
    tw_launch *l;
    const char *text;
    if (tw_kernel_for_target(k, "sm_90", &gpu) != TW_OK || tw_launch_new(gpu, &l) != TW_OK)
        return;
    give(l, gpu);
    tw_launch_show_stage(l, TW_STAGE_PTX, &text);
    tw_launch_free(l);
}

/* Formatting a formatted text changes nothing. */
static void format(tw_context *ctx, const char *text, size_t size)
{
    const char *once, *again;
    size_t length, length_again;
    if (tw_text_format(ctx, "fuzz.tile", text, size, &once, &length) != TW_OK)
        return;
    char *kept = malloc(length + 1);
    if (!kept)
        return;
    memcpy(kept, once, length + 1);
    tw_status s = tw_text_format(ctx, "fuzz.tile", kept, length, &again, &length_again);
    if (s == TW_BAD_PROGRAM || (s == TW_OK && strcmp(kept, again) != 0))
        abort();
    free(kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct target_limits limits;
    tw_context *ctx;
    tw_module *m;
    if (target_context(&limits, &ctx) != TW_OK)
        return 0;
    format(ctx, (const char *)data, size);
    if (tw_module_from_text(ctx, "fuzz.tile", (const char *)data, size, &m) == TW_OK)
        for (int i = 0; i < tw_module_kernel_count(m) && i < KERNELS; i++) {
            run(tw_module_kernel_at(m, i));
            lower(tw_module_kernel_at(m, i));
        }
    tw_context_free(ctx);
    return 0;
}
