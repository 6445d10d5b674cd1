/* Every row of the instruction table: samples of it are read, recognised, verified, printed and
 * read again; for a target that lacks the row there is a message. */
#include "ptx_samples.h"

#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

enum { SAMPLES = 12 };

static jmp_buf failed;

/* A text of many samples, with the expected results of each. */
struct sheet {
    struct arena arena;
    struct text body;
    bool all_operands;
    VEC(size_t) forms;
};

static void take(void *user, const struct ptx_form *form, const uint16_t *mods, size_t count)
{
    struct sheet *sheet = user;
    text_add(&sheet->body, "    ");
    sample_line(&sheet->body, form, mods, count, sheet->all_operands);
    text_add_char(&sheet->body, '\n');
    vec_push(&sheet->arena, &sheet->forms, (size_t)(form - ptx_forms));
}

static void fill(struct sheet *sheet, const struct ptx_form *form)
{
    for (int all = 0; all < 2; all++) {
        sheet->all_operands = all;
        sample_choices(form, SAMPLES, take, sheet);
    }
}

static struct ptx_module *parse(struct sheet *sheet, const char *target, struct text *out,
                                struct diag *d)
{
    text_init(out, &sheet->arena);
    text_printf(out, ".version 9.0\n.target %s\n.address_size 64\n", target);
    sample_outside(out);
    text_add(out, ".visible .entry k()\n{\n");
    sample_head(out, true);
    text_add(out, sheet->body.data);
    sample_tail(out);
    text_add(out, "}\n");
    struct source *source = arena_new(&sheet->arena, struct source);
    *source = (struct source){"samples", out->data, out->length};
    diag_init(d, &sheet->arena);
    return ptx_parse(&sheet->arena, source, d);
}

static void start(struct sheet *sheet)
{
    *sheet = (struct sheet){.all_operands = true};
    arena_init(&sheet->arena, &allocator_libc, &failed);
    text_init(&sheet->body, &sheet->arena);
}

static void expect(struct sheet *sheet, struct diag *d, bool fine)
{
    struct text t;
    text_init(&t, &sheet->arena);
    diag_render(&t, d, false);
    if (!fine)
        fail_msg("%s", t.data);
}

/* --- on a target that has it --- */

static bool has(const char *target, unsigned need)
{
    struct ptx_target t;
    assert_true(ptx_target_parse(target, strlen(target), &t));
    return ptx_target_has(t, need);
}

/* Returns the target with most modifiers, else one that has the form. */
static const char *target_for(const struct ptx_form *form)
{
    static const char *const targets[] = {"sm_100a", "sm_90a", "sm_103a", "sm_120a"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (has(targets[i], form->target))
            return targets[i];
    fail_msg("no target has %s", ptx_ops[form->op].name);
    return NULL;
}

/* Returns the n-th sample in the body. */
static const struct ptx_instruction *nth_sample(const struct ptx_module *m, size_t n)
{
    const struct ptx_function *f = ptx_find_function(m, "k");
    n += sample_instructions_before();
    for (size_t i = 0; i < f->body.count; i++)
        if (f->body.data[i].kind == PTX_AT_INSTRUCTION && n-- == 0)
            return f->body.data[i].instruction;
    fail_msg("a sample is missing");
    return NULL;
}

/* Rows overlap: the first row that fits is used, and must not need more than the sample's own. */
static void check_forms(struct sheet *sheet, const struct ptx_module *m)
{
    for (size_t i = 0; i < sheet->forms.count; i++) {
        const struct ptx_form *wanted = &ptx_forms[sheet->forms.data[i]];
        const struct ptx_instruction *ins = nth_sample(m, i);
        assert_int_equal(ins->op, wanted->op);
        assert_int_not_equal(ins->form, PTX_NO_FORM);
        assert_true(ptx_forms[ins->form].version <= wanted->version);
    }
}

static void check_print(struct sheet *sheet, const struct ptx_module *m)
{
    struct text printed, again;
    struct diag d;
    text_init(&printed, &sheet->arena);
    text_init(&again, &sheet->arena);
    diag_init(&d, &sheet->arena);
    ptx_print(&printed, m);
    struct source source = {"printed", printed.data, printed.length};
    m = ptx_parse(&sheet->arena, &source, &d);
    expect(sheet, &d, m != NULL);
    ptx_print(&again, m);
    assert_string_equal(again.data, printed.data);
}

static void samples_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ptx_form_count; i++) {
        struct sheet sheet;
        struct text text;
        struct diag d;
        start(&sheet);
        fill(&sheet, &ptx_forms[i]);
        struct ptx_module *m = parse(&sheet, target_for(&ptx_forms[i]), &text, &d);
        expect(&sheet, &d, m && ptx_verify(m, &d) && d.warnings == 0);
        check_forms(&sheet, m);
        check_print(&sheet, m);
        arena_free(&sheet.arena);
    }
}

/* --- on a target that lacks it --- */

static bool is_refused(struct sheet *sheet, const struct ptx_form *form, const char *target)
{
    struct text text;
    struct diag d;
    sample_choices(form, 1, take, sheet);
    sheet->forms.count = 1;
    struct ptx_module *m = parse(sheet, target, &text, &d);
    expect(sheet, &d, m != NULL);
    const struct ptx_instruction *ins = nth_sample(m, 0);
    bool refused = !ptx_verify(m, &d);
    if (!ptx_choice_has(&ptx_forms[ins->form], ins->mods, ins->mod_count, m->target))
        expect(sheet, &d, refused);
    return refused;
}

static void other_targets_refuse(void **state)
{
    (void)state;
    size_t refused = 0;
    for (size_t i = 0; i < ptx_form_count; i++) {
        const struct ptx_form *form = &ptx_forms[i];
        if (form->target <= 70)
            continue;
        struct sheet sheet;
        start(&sheet);
        refused += is_refused(&sheet, form, form->target < PTX_OWN ? "sm_70" : "sm_90");
        arena_free(&sheet.arena);
    }
    assert_true(refused > 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_read),
        cmocka_unit_test(other_targets_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
