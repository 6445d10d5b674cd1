/* The simulator compared with an NVIDIA H200: every form of the value, lane, atomic and matrix
 * instructions and of those that move data, with every combination of modifiers that a value
 * depends on, on generated operands (readings_program.h). readings.bin has the GPU's results. If
 * PTX gives a bound for a result, the bound is checked. unread.txt lists all other instructions of
 * the table, with the reason for having no reading.
 *
 * With TW_READINGS=FOLDER the test instead writes the program, its operands and a list of its
 * readings to the folder; with TW_READINGS_ALL set too, also those that readings.bin has. On a
 * machine with a GPU, tests/gpu/take_readings.py makes a file of readings from them, and adds it
 * to readings.bin. */
#include "readings_bounds.h"
#include "readings_file.h"
#include "readings_program.h"

#include "sim/sim_machine.h"

/* Makes every instruction as a line of text, like the tests of PTX. */
#include "../ptx/ptx_samples.c"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_COMPLAINTS = 40 };

#define FOLDER TW_TEST_ROOT "/tests/sim/"

static jmp_buf failed;
static struct arena arena;
static struct readings readings;
static struct taken_file taken;
static struct excuses excuses;
static uint64_t operands[READING_CLASSES * READING_OPERANDS * READING_THREADS];

/* --- files for a machine with a GPU --- */

static void write_file(const char *folder, const char *name, const void *data, size_t size)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

static void write_program(const char *folder)
{
    struct text list;
    text_init(&list, &arena);
    for (size_t i = 0; i < readings.list.count; i++) {
        const struct reading *r = &readings.list.data[i];
        if (getenv("TW_READINGS_ALL") || !taken_find(&taken, r->key))
            text_printf(&list, "%zu %d %s\n", r->offset, r->bytes, r->key);
    }
    write_file(folder, "readings.ptx", readings.ptx.data, readings.ptx.length);
    write_file(folder, "operands.bin", operands, sizeof operands);
    write_file(folder, "list.txt", list.data, list.length);
    char bytes[32];
    snprintf(bytes, sizeof bytes, "%zu\n", readings.bytes);
    write_file(folder, "bytes.txt", bytes, strlen(bytes));
}

/* --- the comparison --- */

struct complaints {
    struct text text;
    int count;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
complain(struct complaints *c, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (c->count++ < MOST_COMPLAINTS)
        text_printf(&c->text, "  %s\n", line);
}

static void begin(struct complaints *c)
{
    c->count = 0;
    text_init(&c->text, &arena);
}

static void end(const struct complaints *c, const char *what)
{
    if (c->count)
        fprintf(stderr, "%s%d %s\n", c->text.data, c->count, what);
    assert_int_equal(c->count, 0);
}

static void hex(char *out, size_t size, const uint8_t *data, int bytes)
{
    *out = '\0';
    for (int i = bytes; i-- > 0;)
        snprintf(out + strlen(out), size - strlen(out), "%02x", data[i]);
}

static void check_reading(const struct reading *r, const uint8_t *ours, const uint8_t *theirs,
                          struct complaints *c)
{
    size_t size = (size_t)r->bytes;
    uint64_t wanted;
    memcpy(&wanted, theirs, sizeof wanted); /* the host is little-endian */
    theirs += sizeof wanted;
    for (size_t t = 0; t < READING_SHOWN; t++) {
        /* the first operand, on which PTX's bounds depend */
        uint64_t argument = operands[READING_OPERANDS * READING_THREADS + t];
        char a[80], b[80];
        if (reading_same(r, ours + t * size, theirs + t * size, argument))
            continue;
        hex(a, sizeof a, ours + t * size, r->bytes);
        hex(b, sizeof b, theirs + t * size, r->bytes);
        complain(c, "%s: thread %zu: %s, on the GPU %s", r->key, t, a, b);
        return;
    }
    if (!r->approximate && reading_hash(ours, size * READING_THREADS) != wanted)
        complain(c, "%s: a thread from %d on", r->key, READING_SHOWN);
}

static struct sim *machine(uint64_t *out, uint64_t *in)
{
    struct diag diag;
    struct source *source = arena_new(&arena, struct source);
    struct sim *sim = sim_new(&arena);
    *source = (struct source){"readings.ptx", readings.ptx.data, readings.ptx.length};
    diag_init(&diag, &arena);
    struct ptx_module *module = ptx_parse(&arena, source, &diag);
    assert_non_null(module);
    assert_true(ptx_verify(module, &diag));
    assert_true(sim_load(sim, module, source, &diag));
    *out = sim_allocate(sim, readings.bytes, NULL, "readings");
    *in = sim_allocate(sim, sizeof operands, operands, "operands");
    return sim;
}

static bool run_kernel(struct sim *sim, int number, const void *const arguments[3])
{
    char name[32];
    struct diag diag;
    diag_init(&diag, &arena);
    snprintf(name, sizeof name, "group_%d", number);
    struct sim_launch launch = {.kernel = name,
                                .grid = {1, 1, 1},
                                .block = {READING_THREADS, 1, 1},
                                .cluster = {1, 1, 1},
                                .arguments = arguments,
                                .argument_count = 3};
    return sim_run(sim, &launch, &diag) == SIM_DONE;
}

static void as_on_the_gpu(void **state)
{
    (void)state;
    uint64_t out, in;
    struct complaints c;
    struct sim *sim = machine(&out, &in);
    const void *arguments[] = {&out, &in, operands};
    begin(&c);
    for (int k = 0; k < readings.kernels; k++)
        if (!run_kernel(sim, k, arguments))
            complain(&c, "%s", sim_why(sim));
    for (size_t i = 0; i < readings.list.count; i++) {
        const struct reading *r = &readings.list.data[i];
        const uint8_t *ours = sim_host(sim, out + r->offset, (size_t)r->bytes * READING_THREADS);
        struct taken *t = taken_find(&taken, r->key);
        if (t && t->bytes == r->bytes) {
            t->used = true;
            check_reading(r, ours, t->data, &c);
        } else if (!excuse_of_reading(&excuses, r->key)) {
            complain(&c, "%s: no reading", r->key);
        }
    }
    for (size_t i = 0; i < taken.list.count; i++)
        if (!taken.list.data[i].used)
            complain(&c, "%s: a reading of what the program does not do", taken.list.data[i].key);
    end(&c, "readings differ or are missing");
    sim_free(sim);
}

/* --- instructions without a reading --- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void keys_are_unique(void **state)
{
    (void)state;
    struct complaints c;
    VEC(const char *) keys = {0};
    begin(&c);
    for (size_t i = 0; i < readings.list.count; i++)
        vec_push(&arena, &keys, readings.list.data[i].key);
    qsort(keys.data, keys.count, sizeof *keys.data, by_text);
    for (size_t i = 1; i < keys.count; i++)
        if (strcmp(keys.data[i - 1], keys.data[i]) == 0)
            complain(&c, "%s", keys.data[i]);
    end(&c, "keys name two readings");
}

/* Instructions without a reading: a line of PTX and a reason each. */
struct unread {
    struct text body;
    struct ptx_target target;
    VEC(const char *) reasons, lines;
    struct complaints *complaints;
};

static void see_choice(void *user, const struct ptx_form *form, const uint16_t *mods, size_t count)
{
    struct unread *u = user;
    struct text line;
    if (!ptx_choice_has(form, mods, count, u->target))
        return;
    text_init(&line, &arena);
    sample_line(&line, form, mods, count, true);
    const char *head = arena_string(&arena, line.data, strcspn(line.data, " ;"));
    if (bsearch(&head, readings.instructions.data, readings.instructions.count, sizeof head,
                by_text))
        return;
    const char *reason = excuse_of(&excuses, head);
    if (!reason) {
        complain(u->complaints, "%s: neither read nor in unread.txt", head);
        return;
    }
    vec_push(&arena, &u->reasons, reason);
    vec_push(&arena, &u->lines, head);
    text_printf(&u->body, "%s\n", line.data);
}

static struct ptx_module *module_of(const struct unread *u, struct diag *diag)
{
    struct text out;
    struct source *source = arena_new(&arena, struct source);
    text_init(&out, &arena);
    text_add(&out, ".version 9.0\n.target sm_90a\n.address_size 64\n");
    sample_outside(&out);
    text_add(&out, ".visible .entry k()\n{\n");
    sample_head(&out, true);
    text_add(&out, u->body.data);
    sample_tail(&out);
    text_add(&out, "}\n");
    *source = (struct source){"unread", out.data, out.length};
    return ptx_parse(&arena, source, diag);
}

/* Checks that the simulator has each instruction, or not, as its reason says. */
static void check_simulated(struct unread *u)
{
    struct diag diag;
    diag_init(&diag, &arena);
    struct ptx_module *module = module_of(u, &diag);
    assert_non_null(module);
    struct ptx_function *k = ptx_find_function(module, "k");
    struct sim *sim = sim_new(&arena);
    assert_true(sim_load(sim, module, NULL, &diag));
    /* the last instruction becomes an unknown one */
    k->body.data[k->body.count - 1].instruction->op = PTX_OP_COUNT;
    const struct sim_code *code = sim_program_of(sim, k, 90)->kernel_code;
    const struct sim_op *first = code->ops + sample_instructions_before();
    sim_handler *unknown = code->ops[code->count - 1].run;
    for (size_t i = 0; i < u->lines.count; i++) {
        bool has = first[i].run != unknown, says = strcmp(u->reasons.data[i], "not simulated");
        if (has != says)
            complain(u->complaints, "%s: %s, but in unread.txt as: %s", u->lines.data[i],
                     has ? "simulated" : "not simulated", u->reasons.data[i]);
    }
    sim_free(sim);
}

static void what_is_not_read_is_known(void **state)
{
    (void)state;
    struct complaints c;
    struct unread u = {.target = {90, 'a'}, .complaints = &c};
    begin(&c);
    text_init(&u.body, &arena);
    qsort(readings.instructions.data, readings.instructions.count, sizeof(char *), by_text);
    for (size_t f = 0; f < ptx_form_count; f++)
        if (ptx_target_has(u.target, ptx_forms[f].target))
            sample_choices(&ptx_forms[f], SIZE_MAX, see_choice, &u);
    check_simulated(&u);
    for (size_t i = 0; i < excuses.list.count; i++)
        if (!excuses.list.data[i].used)
            complain(&c, "unread.txt: %s: nothing is", excuses.list.data[i].pattern);
    end(&c, "instructions without a reading are not, or wrongly, in unread.txt");
}

static void read_files(void)
{
    const char *why = "";
    if (!taken_read(&taken, &arena, FOLDER "readings.bin", &why))
        fail_msg("readings.bin: %s", why);
    if (!excuses_read(&excuses, &arena, FOLDER "unread.txt", &why))
        fail_msg("unread.txt: %s", why);
    readings_make(&readings, &arena, (struct ptx_target){.number = 90});
    readings_operands(operands);
    if (taken.operands != reading_hash(operands, sizeof operands))
        fail_msg("readings.bin was taken with other operands");
}

static int set_up(void **state)
{
    (void)state;
    read_files();
    return 0;
}

static void written(void **state)
{
    (void)state;
    write_program(getenv("TW_READINGS"));
}

int main(void)
{
    arena_init(&arena, NULL, &failed);
    if (setjmp(failed))
        return 2;
    const struct CMUnitTest writes[] = {cmocka_unit_test(written)};
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_are_unique),
                                       cmocka_unit_test(as_on_the_gpu),
                                       cmocka_unit_test(what_is_not_read_is_known)};
    if (getenv("TW_READINGS"))
        return cmocka_run_group_tests(writes, set_up, NULL);
    return cmocka_run_group_tests(tests, set_up, NULL);
}
