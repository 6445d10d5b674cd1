/* NVIDIA's own tools on our PTX: samples of every row of the table assemble, with the version
 * that the table names; the PTX of real kernels, parsed and printed again, has the same meaning
 * (cuda_tools.py). Skipped, with a message, if the tools are not installed. TW_TEST_LONG=1: many
 * more samples, all kernels. */
#include "ptx_samples.h"

#include "base/platform.h"
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static jmp_buf failed;

static bool is_long(void)
{
    return getenv("TW_TEST_LONG") != NULL;
}

static bool installed(const char *tool)
{
    char command[64];
    snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", tool);
    return system(command) == 0;
}

/* --- one file --- */

/* --- samples --- */

/* Samples for one version of PTX and one target. */
struct sheet {
    struct arena arena;
    struct text body;
    struct ptx_target target;
    int version;
    bool all_operands;
    bool pairs; /* .cta_group::2, which must not be in a kernel with .cta_group::1 */
    size_t count;
};

static bool is_for_pairs(const uint16_t *mods, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mods[i] == MOD_CTA_GROUP_2)
            return true;
    return false;
}

static int version_for(const struct sheet *sheet, const struct ptx_form *form, const uint16_t *mods,
                       size_t count)
{
    int version = ptx_choice_version(form, mods, count);
    int least = ptx_target_find(sheet->target)->version;
    return version > least ? version : least;
}

static void take(void *user, const struct ptx_form *form, const uint16_t *mods, size_t count)
{
    struct sheet *sheet = user;
    if (!ptx_choice_has(form, mods, count, sheet->target) ||
        is_for_pairs(mods, count) != sheet->pairs ||
        version_for(sheet, form, mods, count) != sheet->version)
        return;
    text_add(&sheet->body, "    ");
    sample_line(&sheet->body, form, mods, count, sheet->all_operands);
    text_add_char(&sheet->body, '\n');
    sheet->count++;
}

/* Sheets are short, because the assembler's time grows faster than its input, and a line may
 * read registers that an earlier line wrote. */
enum { MOST_LINES = 250 };

static void assemble(struct sheet *sheet, const char *target)
{
    char path[] = "/tmp/ptx_samples_XXXXXX", command[256];
    struct text text;
    if (!sheet->count)
        return;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    text_init(&text, &sheet->arena);
    text_printf(&text, ".version %d.%d\n.target %s\n.address_size 64\n", sheet->version / 10,
                sheet->version % 10, target);
    sample_outside(&text);
    text_add(&text, ".visible .entry k()\n{\n");
    sample_head(&text, sheet->version >= 83);
    text_add(&text, sheet->body.data);
    sample_tail(&text);
    text_add(&text, "}\n");
    const char *why = "";
    assert_true(platform_write_file(&sheet->arena, path, text.data, text.length, &why));
    snprintf(command, sizeof command, "ptxas -O1 -c -arch=%s %s -o %s.cubin 2>&1", target, path,
             path);
    FILE *said = popen(command, "r");
    assert_non_null(said);
    char line[1024];
    bool fine = true;
    while (fgets(line, sizeof line, said)) {
        bool bad = strstr(line, "error") || strstr(line, "fatal");
        if (bad)
            fputs(line, stderr);
        fine &= !bad;
    }
    pclose(said);
    if (!fine)
        fail_msg("%s does not assemble for %s", path, target);
    unlink(path);
    snprintf(command, sizeof command, "%s.cubin", path);
    unlink(command);
    sheet->count = 0;
    text_init(&sheet->body, &sheet->arena);
}

static size_t assemble_version(const char *name, struct ptx_target target, int version, bool pairs,
                               size_t most)
{
    struct sheet sheet = {.target = target, .version = version, .pairs = pairs};
    size_t total = 0;
    arena_init(&sheet.arena, &allocator_libc, &failed);
    text_init(&sheet.body, &sheet.arena);
    for (size_t i = 0; i < ptx_form_count; i++) {
        for (int all = 0; all < 2; all++) {
            sheet.all_operands = all;
            size_t before = sheet.count;
            sample_choices(&ptx_forms[i], most, take, &sheet);
            total += sheet.count - before;
        }
        bool wide = ptx_forms[i].op == PTX_WGMMA_MMA_ASYNC;
        if (sheet.count > MOST_LINES || wide)
            assemble(&sheet, name);
    }
    assemble(&sheet, name);
    arena_free(&sheet.arena);
    return total;
}

static void samples_assemble(void **state)
{
    (void)state;
    static const char *const targets[] = {"sm_80", "sm_90a", "sm_100a", "sm_120a", "sm_86",
                                          "sm_89", "sm_90",  "sm_103a", "sm_110a", "sm_121a"};
    size_t count = is_long() ? sizeof targets / sizeof *targets : 4;
    if (!installed("ptxas")) {
        print_message("left out: no ptxas\n");
        skip();
    }
    for (size_t i = 0; i < count; i++) {
        struct ptx_target target;
        size_t total = 0;
        assert_true(ptx_target_parse(targets[i], strlen(targets[i]), &target));
        size_t most = is_long() ? 150 : 6;
        for (int version = 60; version <= 90; version++) {
            total += assemble_version(targets[i], target, version, false, most);
            total += assemble_version(targets[i], target, version, true, most);
        }
        print_message("%s: %zu samples\n", targets[i], total);
        assert_true(total > 1000);
    }
}

/* --- kernels --- */

static void kernels_mean_the_same(void **state)
{
    (void)state;
    char command[1024];
    if (!installed("python3")) {
        print_message("left out: no python3\n");
        skip();
    }
    snprintf(command, sizeof command, "python3 %s/tests/ptx/cuda_tools.py %s %s", TW_TEST_ROOT,
             TW_PTX_AGAIN, is_long() ? "" : "--quick");
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_assemble),
        cmocka_unit_test(kernels_mean_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
