/* The pass `copiers` on random programs: the program that they print compiles to the same PTX, except
 * for the places of the source. */
#include "api_helper.h"
#include "random_products.h"
#include "random_tiles.h"
#include "test_layout_random.h"
#include "tilewright_look.h"

#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 60, TEXT = 4096 };

static const char target[] = "sm_80", last[] = "copiers";

/* Makes the fixture's launch of its module's first kernel for the target. */
static void aim(struct fixture *f)
{
    tw_kernel *k = NULL;
    tw_launch_free(f->launch);
    succeed(f, tw_kernel_for_target(tw_module_kernel_at(f->module, 0), target, &k));
    succeed(f, tw_launch_new(k, &f->launch));
}

/* Returns a copy of the kernel's PTX without the lines about the source. The caller frees it. */
static char *ptx_of(struct fixture *f)
{
    const char *text, *end;
    succeed(f, tw_launch_show_stage(f->launch, TW_STAGE_PTX, &text));
    char *kept = malloc(strlen(text) + 1), *to = kept;
    assert_non_null(kept);
    for (; *text; text = end) {
        size_t blanks = strspn(text, " \t");
        end = text + strcspn(text, "\n");
        end += *end == '\n';
        if (strncmp(text + blanks, ".loc", 4) == 0 || strncmp(text + blanks, ".file", 5) == 0 ||
            strncmp(text + blanks, "//", 2) == 0)
            continue;
        memcpy(to, text, (size_t)(end - text));
        to += end - text;
    }
    *to = '\0';
    return kept;
}

static void expect_same_again(struct fixture *f, const char *program)
{
    const char *shown;
    load(f, program);
    aim(f);
    char *before = ptx_of(f);
    succeed(f, tw_launch_show(f->launch, last, &shown));
    char *printed = strdup(shown);
    assert_non_null(printed);
    tw_launch_free(f->launch);
    f->launch = NULL;
    tw_module_free(f->module);
    load(f, printed);
    aim(f);
    char *after = ptx_of(f);
    if (strcmp(before, after) != 0)
        fail_msg("the PTX differs of\n%s\n%s", program, printed);
    free(before);
    free(after);
    free(printed);
    tw_launch_free(f->launch);
    f->launch = NULL;
    tw_module_free(f->module);
    f->module = NULL;
}

static void test_tiles(void **state)
{
    for (uint64_t i = 1; i <= PROGRAMS; i++) {
        uint64_t seed = i * 0x9e3779b97f4a7c15ULL;
        char text[TEXT];
        expect_same_again(*state, tile_kernel_random(text, sizeof text, &seed));
    }
}

static void test_products(void **state)
{
    for (uint64_t i = 1; i <= PROGRAMS; i++) {
        uint64_t seed = i * 0x9e3779b97f4a7c15ULL;
        char text[TEXT];
        int which = random_below(&seed, PRODUCT_SINGLES);
        struct product product = product_random(&seed, &product_singles[which]);
        expect_same_again(*state, product_write(text, sizeof text, &product));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tiles, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(test_products, api_setup, api_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
