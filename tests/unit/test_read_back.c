/* Random kernels, printed after a pass and compiled again: the PTX and the values are the same, and so is
 * the verdict of the static check. test_read_back.py does this with the kernels that ship. */
#include "cpu_helper.h"
#include "synccheck/synccheck.h"
#include "api/pass_order.h"
#include "emit_program.h"
#include "plan/plan.h"
#include "random_products.h"
#include "random_tiles.h"
#include "test_layout_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const passes[] = {
#define READ_BACK(name) name,
#include "../emit/read_back.def"
#undef READ_BACK
};
enum { PASSES = sizeof passes / sizeof passes[0] };

/* A kernel on the way to PTX. */
struct compiled {
    struct program program;
    enum sync_verdict verdict;
    const char *ptx; /* NULL: it is too large */
};

static void compile(struct compiled *c, const char *text, const char *target)
{
    struct lowered lowered = {.excess = LOWERED_FITS};
    *c = (struct compiled){0};
    program_open(&c->program, text);
    if (!program_check(&c->program, 0) || !program_passes(&c->program, "fold"))
        fail_msg("%s\n%s", program_messages(&c->program), text);
    struct pass_context check = {.kernel = c->program.kernel, .diag = &c->program.diag};
    c->verdict = synccheck_kernel(&check, NULL);
    assert_true(program_check(&c->program, 0));
    if (program_emit(&c->program, target, &lowered))
        c->ptx = emitted_text(&c->program, &lowered);
    else if (lowered.excess != LOWERED_MANY_REGISTERS)
        fail_msg("%s\n%s", program_messages(&c->program), text);
}

static bool run_to(struct program *p, const char *pass, const struct target *target)
{
    struct plan_context plan = {.kernel = p->kernel, .target = target, .diag = &p->diag};
    for (int i = 0; i < pass_order_count; i++)
        if (strcmp(pass_order_list[i].name, pass) == 0)
            return program_passes(p, pass);
    return program_passes(p, NULL) && plan_run(&plan, pass);
}

/* Returns the text after the pass; *p holds its memory. */
static const char *printed_after(struct program *p, const char *text, const char *pass,
                                 const char *target)
{
    struct ptx_target t;
    assert_true(ptx_target_parse(target, strlen(target), &t));
    *p = (struct program){.sm = t.number};
    program_open(p, text);
    if (!program_check(p, 0) || !run_to(p, pass, target_find(t)))
        fail_msg("%s\n%s", program_messages(p), text);
    return program_text(p);
}

static void run(const char *text, struct cpu_outcome *out)
{
    struct cpu_run r;
    cpu_open(&r, text, NULL);
    cpu_run_filled(&r, 1, out);
    cpu_close(&r);
}

static void reads_back(const char *text, const char *target)
{
    static struct cpu_outcome first, second;
    struct compiled whole, again;
    struct program printed;
    compile(&whole, text, target);
    run(text, &first);
    for (int i = 0; i < PASSES; i++) {
        const char *after = printed_after(&printed, text, passes[i], target);
        compile(&again, after, target);
        if (again.verdict != whole.verdict)
            fail_msg("after %s: verdict %d, then %d\n%s", passes[i], (int)whole.verdict,
                     (int)again.verdict, after);
        if (!again.ptx != !whole.ptx || (whole.ptx && strcmp(again.ptx, whole.ptx) != 0))
            fail_msg("after %s: other PTX\n%s", passes[i], after);
        run(after, &second);
        cpu_expect_same(&first, &second, passes[i], 0, after);
        program_free(&again.program);
        program_free(&printed);
    }
    program_free(&whole.program);
}

static void tiles_read_back(void **state)
{
    char text[4096];
    uint64_t seed = 77;
    (void)state;
    for (int round = random_rounds(60); round > 0; round--)
        reads_back(tile_kernel_random(text, sizeof text, &seed), round % 2 ? "sm_80" : "sm_90");
}

static void products_read_back(void **state)
{
    char text[4096];
    uint64_t seed = 78;
    (void)state;
    for (int round = random_rounds(40); round > 0; round--) {
        struct product p = product_random(&seed, &product_singles[round % PRODUCT_SINGLES]);
        reads_back(product_write(text, sizeof text, &p), round % 2 ? "sm_80" : "sm_90");
    }
}

/* Each kernel has a barrier that some pass adds. */
static void added_barriers_read_back(void **state)
{
    static const char *const bodies[] = {
        "    C[0 +: 32][0 +: 32] = A[0 +: 32][0 +: 32];\n"
        "    D[0 +: 32][0 +: 32] = C[1 +: 32][0 +: 32];\n",
        "    for (i32 p = 0; p < 64; p += 8)\n        C[0 +: 32][p +: 16] += A[0 +: 32][p +: "
        "16];\n",
        "    if (A[0][0] > 0)\n        C[0][0] = A[1][1];\n    D[0][0] = C[0][0];\n",
        "    {\n        shared f32 s[16][16] = A[0 +: 16][0 +: 16];\n        sync();\n"
        "        C[0 +: 16][0 +: 16] = s;\n    }\n"
        "    shared f32 t[16][16] = A[16 +: 16][0 +: 16];\n    sync();\n"
        "    D[0 +: 16][0 +: 16] = t;\n",
    };
    char text[1024];
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct program p;
        snprintf(text, sizeof text,
                 "kernel k(const f32 *a, f32 *c, f32 *d) grid(1) warps(4)\n{\n"
                 "    global f32 A[64][64] = a, C[64][64] = c, D[64][64] = d;\n%s}\n",
                 bodies[i]);
        assert_non_null(strstr(printed_after(&p, text, "plan", "sm_80"), "sync() added;"));
        program_free(&p);
        reads_back(text, "sm_80");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_read_back),
        cmocka_unit_test(products_read_back),
        cmocka_unit_test(added_barriers_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
