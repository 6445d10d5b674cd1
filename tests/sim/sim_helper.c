#include "sim_helper.h"

#include "base/platform.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void fail_with_messages(struct sim_case *c)
{
    struct text out;
    text_init(&out, &c->arena);
    diag_render(&out, &c->diag, false);
    print_error("%s", out.data ? out.data : "");
    fail();
}

void sim_case_open(struct sim_case *c, const char *ptx)
{
    static const char head[] = ".version 8.4\n.target sm_90\n.address_size 64\n";
    memset(c, 0, sizeof *c);
    arena_init(&c->arena, &allocator_libc, &c->out_of_memory);
    if (setjmp(c->out_of_memory)) {
        fail_msg("no memory");
        return;
    }
    diag_init(&c->diag, &c->arena);
    const char *text = strstr(ptx, ".version") ? ptx : arena_printf(&c->arena, "%s%s", head, ptx);
    c->source = (struct source){"test.ptx", text, strlen(text)};
    c->module = ptx_parse(&c->arena, &c->source, &c->diag);
    if (!c->module || !ptx_verify(c->module, &c->diag))
        fail_with_messages(c);
    c->sim = sim_new(&c->arena);
    if (!sim_load(c->sim, c->module, &c->source, &c->diag))
        fail_with_messages(c);
    for (int i = 0; i < 3; i++)
        c->launch.grid[i] = c->launch.block[i] = c->launch.cluster[i] = 1;
}

void sim_case_open_file(struct sim_case *c, const char *path)
{
    struct arena arena;
    jmp_buf out_of_memory;
    const char *why;
    size_t length;
    arena_init(&arena, &allocator_libc, &out_of_memory);
    if (setjmp(out_of_memory))
        fail_msg("no memory");
    char *text = platform_read_file(&arena, path, &length, &why);
    if (!text)
        fail_msg("%s: %s", path, why);
    sim_case_open(c, arena_string(&arena, text, length));
    c->source.name = arena_string(&c->arena, path, strlen(path));
    c->source.text = arena_string(&c->arena, text, length);
    arena_free(&arena);
}

void sim_case_close(struct sim_case *c)
{
    sim_free(c->sim);
    arena_free(&c->arena);
}

enum sim_end sim_case_launch(struct sim_case *c, const char *kernel, int count,
                             const void *const *arguments)
{
    c->launch.kernel = kernel;
    c->launch.arguments = arguments;
    c->launch.argument_count = count;
    c->end = sim_run(c->sim, &c->launch, &c->diag);
    return c->end;
}

enum sim_end sim_case_run(struct sim_case *c, const char *kernel, int count, const uint64_t *values)
{
    const void *arguments[64];
    for (int i = 0; i < count; i++)
        arguments[i] = &values[i];
    return sim_case_launch(c, kernel, count, arguments);
}

void sim_case_done(struct sim_case *c, const char *kernel, int count, const uint64_t *values)
{
    if (sim_case_run(c, kernel, count, values) != SIM_DONE)
        fail_msg("%s", sim_why(c->sim));
}

uint64_t sim_case_buffer(struct sim_case *c, size_t bytes, const void *data)
{
    static const char *const names[] = {"b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7"};
    uint64_t address = sim_allocate(c->sim, bytes, data, names[c->buffers++ % 8]);
    assert_true(address);
    return address;
}

uint32_t *sim_case_words(struct sim_case *c, uint64_t address, size_t count)
{
    uint32_t *words = sim_host(c->sim, address, count * sizeof *words);
    assert_non_null(words);
    return words;
}

const uint32_t *sim_case_body(struct sim_case *c, const char *body, unsigned threads, size_t words)
{
    static char text[1 << 16];
    snprintf(text, sizeof text,
             ".version 8.4\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 out)\n{\n"
             ".reg .b32 %%r<64>; .reg .b64 %%rd<32>; .reg .f32 %%f<32>; .reg .f64 %%fd<8>;\n"
             ".reg .b16 %%rs<16>; .reg .pred %%p<8>; .reg .b64 %%out;\n"
             "ld.param.u64 %%out, [out];\nmov.u32 %%r0, %%tid.x;\n%s\nret;\n}\n",
             body);
    sim_case_open(c, text);
    uint64_t out = sim_case_buffer(c, words * 4, NULL);
    c->launch.block[0] = threads;
    sim_case_done(c, "k", 1, &out);
    return sim_case_words(c, out, words);
}
