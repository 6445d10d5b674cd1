/* Reads the bytes as calls of the interface, in any order, on objects that earlier calls made. */
#include "fuzz_target.h"
#include "tilewright_entry.h"
#include "tilewright_look.h"

#include <string.h>

static const char text[] = "type T = {f32, f16};\n"
                           "tune B = {8, 16};\n"
                           "require(B <= 16);\n"
                           "kernel scale(i32 n, static i32 times, f32 by, const T *a, T *c)\n"
                           "    grid(cdiv(n, B)) warps(1)\n"
                           "{\n"
                           "    global T A[n] = a, C[n] = c;\n"
                           "    reg T x[B] = A[block.x * B +: B];\n"
                           "    for (i32 i = 0; i < times; i++)\n"
                           "        x = (T) (x * by);\n"
                           "    C[block.x * B +: B] = x;\n"
                           "    ensures C == A;\n"
                           "}\n";

enum { LENGTH = 64, HELD = 4, CALLS = 200 };

struct state {
    struct target_bytes in;
    tw_context *ctx;
    tw_module *modules[HELD];
    tw_launch *launches[HELD];
    tw_entry *entries[HELD];
    float a[LENGTH], c[LENGTH];
};

static const char *const names[] = {"n", "times", "by", "a", "c", "B", "T", "", "missing"};

static const char *some_name(struct state *s)
{
    return names[target_take(&s->in, 1) % (sizeof names / sizeof *names)];
}

static tw_value some_scalar(struct state *s)
{
    uint32_t kind = target_take(&s->in, 1);
    int32_t v = (int32_t)(kind & 2 ? target_take(&s->in, 4) : target_take(&s->in, 1));
    return kind & 1 ? tw_float((double)v / 16) : tw_int(v);
}

static void give_array(struct state *s, tw_launch *l)
{
    const char *name = some_name(s);
    uint32_t shape = target_take(&s->in, 1), type = target_take(&s->in, 1);
    tw_array x = {.size = sizeof x,
                  .data = strcmp(name, "a") == 0 ? s->a : s->c,
                  .dtype = (tw_dtype)(int)(type % 20),
                  .rank = (int)(shape >> 6),
                  .shape = {shape & 31}};
    if (tw_dtype_size(x.dtype) > 4)
        x.shape[0] /= 2;
    tw_launch_array(l, name, shape == 255 ? NULL : &x);
}

static void launch_call(struct state *s, uint32_t which, tw_launch *l)
{
    const char *shown;
    double ms;
    tw_value v;
    tw_array x = tw_array_init();
    tw_verdict verdict = tw_verdict_init();
    switch (which % 14) {
    case 0: tw_launch_set(l, some_name(s), some_scalar(s)); break;
    case 1: tw_launch_tune(l, some_name(s), some_scalar(s)); break;
    case 2: tw_launch_type(l, some_name(s), (tw_dtype)(int)(target_take(&s->in, 1) % 20)); break;
    case 3: give_array(s, l); break;
    case 4: tw_launch_prepare(l); break;
    case 5: tw_launch_run(l); break;
    case 6: tw_launch_begin(l, NULL, NULL); break;
    case 7: tw_launch_wait(l); break;
    case 8: tw_launch_verify(l, &verdict); break;
    case 9: tw_launch_show(l, some_name(s), &shown); break;
    case 10: tw_launch_time(l, (int)(target_take(&s->in, 1) % 4), &ms); break;
    case 11: tw_launch_value(l, some_name(s), &v); break;
    case 12: tw_launch_shape(l, some_name(s), &x); break;
    case 13: tw_launch_check(l); break;
    }
}

static void start_entry(struct state *s, tw_entry *e)
{
    uint32_t n = target_take(&s->in, 1), times = target_take(&s->in, 1);
    tw_value args[] = {tw_int(n % LENGTH), tw_int(times % 8), tw_float(2),
                       tw_pointer(n % 7 ? s->a : NULL), tw_pointer(s->c)};
    if (times % 11 == 0)
        args[n % 5].kind = (tw_value_kind)(times % 5);
    tw_error error = tw_error_init();
    tw_entry_start(e, args, n % 13 ? 5 : (int)(n % 5), NULL, n % 3 ? &error : NULL);
}

static void make(struct state *s, uint32_t which)
{
    uint32_t at = target_take(&s->in, 1) % HELD, from = target_take(&s->in, 1) % HELD;
    tw_kernel *k = s->modules[from] ? tw_module_kernel_at(s->modules[from], 0) : NULL;
    if (which % 3 == 0 && !s->modules[at]) {
        if (tw_module_from_text(s->ctx, "t", text, sizeof text - 1, &s->modules[at]) != TW_OK)
            s->modules[at] = NULL;
    } else if (which % 3 == 1 && !s->launches[at]) {
        tw_launch_new(k, &s->launches[at]);
    } else if (which % 3 == 2 && !s->entries[at]) {
        tw_entry_new(s->launches[from], &s->entries[at]);
    }
}

static void drop(struct state *s, uint32_t which)
{
    uint32_t at = target_take(&s->in, 1) % HELD;
    if (which % 3 == 0) {
        tw_module_free(s->modules[at]);
        s->modules[at] = NULL;
    } else if (which % 3 == 1) {
        tw_launch_free(s->launches[at]);
        s->launches[at] = NULL;
    } else {
        tw_entry_free(s->entries[at]);
        s->entries[at] = NULL;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct target_limits limits;
    struct state s = {.in = {data, data + size}};
    if (target_context(&limits, &s.ctx) != TW_OK)
        return 0;
    for (int i = 0; i < CALLS && s.in.at < s.in.end; i++) {
        uint32_t call = target_take(&s.in, 1), which = call >> 2;
        uint32_t at = target_take(&s.in, 1) % HELD;
        switch (call % 4) {
        case 0: make(&s, which); break;
        case 1: launch_call(&s, which, s.launches[at]); break;
        case 2: which % 2 ? start_entry(&s, s.entries[at]) : drop(&s, which); break;
        case 3: launch_call(&s, which, s.launches[0]); break;
        }
    }
    tw_context_free(s.ctx);
    return 0;
}
