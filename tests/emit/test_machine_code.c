/* Machine code has the accesses that the PTX has: every kernel that ships, as it is by default, for
 * each of its types, assembled for sm_80 and sm_90, line by line of the PTX; every form of load and
 * store, for every target. The reader of machine code against a disassembler where one is here.
 * Needs ptxas; without it nothing is assembled, which is said. */
#include "sass/sass.h"
#include "sim/sim_assembled.h"
#include "tilewright.h"
#include "tilewright_look.h"
#include "tilewright_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TW_TEST_ROOT
#define TW_TEST_ROOT "."
#endif

static char folder[] = "/tmp/tilewright-test-XXXXXX";
static const char *ptxas, *disassembler;

/* --- programs --- */

static const char *find_program(const char *const *names)
{
    char command[256];
    for (; *names; names++) {
        snprintf(command, sizeof command, "command -v %s > /dev/null 2>&1", *names);
        if (system(command) == 0)
            return *names;
    }
    return NULL;
}

static int set_up(void **state)
{
    static const char *const assemblers[] = {"ptxas", "/usr/local/cuda/bin/ptxas", NULL};
    static const char *const others[] = {"nvdisasm -c", "/usr/local/cuda/bin/nvdisasm -c",
                                         "cuobjdump -sass", "/usr/local/cuda/bin/cuobjdump -sass",
                                         NULL};
    (void)state;
    ptxas = find_program(assemblers);
    disassembler = find_program(others);
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[256];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static bool have_assembler(void)
{
    if (!ptxas)
        print_message("there is no ptxas: nothing is assembled\n");
    return ptxas;
}

static char *read_file(struct arena *a, const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *length = (size_t)ftell(f);
    rewind(f);
    char *data = arena_alloc(a, *length + 1);
    assert_int_equal(fread(data, 1, *length, f), *length);
    fclose(f);
    return data;
}

/* A program and its machine code. */
struct assembled {
    struct arena arena;
    jmp_buf no_memory;
    struct source source;
    struct diag diag;
    struct ptx_module *module;
    const struct ptx_function *kernel;
    struct sass sass;
};

/* False: the assembler does not know the target. */
static bool assemble(struct assembled *x, const char *text, const char *target)
{
    char path[64], command[512];
    size_t length;
    arena_init(&x->arena, &allocator_libc, &x->no_memory);
    diag_init(&x->diag, &x->arena);
    x->source = (struct source){"k.ptx", text, strlen(text)};
    x->module = ptx_parse(&x->arena, &x->source, &x->diag);
    assert_non_null(x->module);
    for (size_t i = 0; i < x->module->items.count; i++)
        if (x->module->items.data[i].kind == PTX_ITEM_FUNCTION)
            x->kernel = x->module->items.data[i].function;
    snprintf(path, sizeof path, "%s/k.ptx", folder);
    FILE *f = fopen(path, "w");
    fputs(text, f);
    fclose(f);
    snprintf(command, sizeof command, "%s -lineinfo -arch=%s %s -o %s/k.cubin > %s/said 2>&1",
             ptxas, target, path, folder, folder);
    if (system(command) != 0) {
        snprintf(path, sizeof path, "%s/said", folder);
        const char *said = read_file(&x->arena, path, &length);
        if (strstr(said, "is not defined for option 'gpu-name'"))
            return false;
        fail_msg("%s", said);
    }
    snprintf(path, sizeof path, "%s/k.cubin", folder);
    const char *cubin = read_file(&x->arena, path, &length);
    const char *why = sass_read(&x->arena, cubin, length, x->module, x->kernel->name, &x->sass);
    if (why)
        fail_msg("%s", why);
    assert_int_equal(x->sass.target, atoi(target + 3));
    return true;
}

/* --- a run of every instruction, once --- */

static enum sim_space space_of(const struct coded_access *a)
{
    return a->space == ACCESS_SHARED  ? SIM_SHARED
           : a->space == ACCESS_LOCAL ? SIM_LOCAL
                                      : SIM_GLOBAL;
}

static void feed(const struct sim_observer *o, const struct ptx_function *f)
{
    for (size_t i = 0; i < f->body.count; i++) {
        const struct ptx_statement *s = &f->body.data[i];
        struct coded_access access;
        if (s->kind != PTX_AT_INSTRUCTION)
            continue;
        struct sim_access a = {.at = {.ins = s->instruction, .function = f, .where = s->where},
                               .mask = UINT32_MAX};
        o->executed(o->user, &a.at, 1, SIM_LANES);
        if (!ptx_access_of(s->instruction, &access))
            continue;
        a.space = space_of(&access);
        a.bytes = access.bytes ? access.bytes : 4;
        a.kind = access.kind == ACCESS_ATOMIC  ? SIM_UPDATE
                 : access.kind == ACCESS_STORE ? SIM_WRITE
                                               : SIM_READ;
        for (uint64_t lane = 0; lane < SIM_LANES; lane++)
            a.address[lane] = 16 * lane;
        o->access(o->user, &a);
    }
}

static void compare(struct assembled *x, struct sim_assembled *out)
{
    struct sim_counters *c = sim_counters_new(&x->arena);
    sim_counters_merge(c);
    feed(sim_counters_observer(c), x->kernel);
    sim_assembled_find(&x->arena, c, x->module, &x->sass, out);
}

/* --- against a disassembler --- */

/* "LDS 16" of "LDS.U.128", "LDSM 8" of "LDSM.16.MT88.2"; false: another instruction. */
static bool short_name(const char *text, char out[32])
{
    static const char *const names[] = {"LDS", "LDG", "LDL",  "LD",     "STS",  "STG",
                                        "STL", "ST",  "LDSM", "LDGSTS", "STSM", NULL};
    char name[16];
    size_t length = strcspn(text, ". ");
    int i = 0, bytes = 4;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    while (names[i] && strcmp(names[i], name) != 0)
        i++;
    if (!names[i])
        return false;
    for (const char *at = text + length; *at == '.'; at += 1 + strcspn(at + 1, ". ")) {
        bool matrix = name[2] && name[3] == 'M';
        size_t n = strcspn(at + 1, ". ");
        bool two = strncmp(at, ".2", 2) == 0 && n == 1, four = strncmp(at, ".4", 2) == 0 && n == 1;
        if (matrix)
            bytes = two ? 8 : four ? 16 : bytes;
        else if (n == 2 && (at[1] == 'U' || at[1] == 'S') && at[2] == '8')
            bytes = 1;
        else if (n == 3 && strncmp(at + 2, "16", 2) == 0)
            bytes = 2;
        else if (n == 2 && strncmp(at, ".64", 3) == 0)
            bytes = 8;
        else if (n == 3 && strncmp(at, ".128", 4) == 0)
            bytes = 16;
    }
    snprintf(out, 32, "%s %d", name, bytes);
    return true;
}

static void name_of(const struct coded_access *a, char out[32])
{
    static const char *const spaces[] = {"", "G", "S", "L"};
    switch ((enum coded_access_kind)a->kind) {
    case ACCESS_LOAD: snprintf(out, 32, "LD%s %d", spaces[a->space], a->bytes); break;
    case ACCESS_STORE: snprintf(out, 32, "ST%s %d", spaces[a->space], a->bytes); break;
    case ACCESS_COPY: snprintf(out, 32, "LDGSTS %d", a->bytes); break;
    case ACCESS_LOAD_MATRIX: snprintf(out, 32, "LDSM %d", a->bytes); break;
    case ACCESS_STORE_MATRIX: snprintf(out, 32, "STSM %d", a->bytes); break;
    case ACCESS_ATOMIC: *out = 0; break;
    }
}

enum { MOST = 16384 };

static int by_text(const void *left, const void *right)
{
    return strcmp(left, right);
}

static size_t listing(struct assembled *x, char (*out)[32])
{
    char line[1024];
    size_t count = 0;
    snprintf(line, sizeof line, "%s %s/k.cubin 2> /dev/null", disassembler, folder);
    FILE *f = popen(line, "r");
    (void)x;
    while (fgets(line, sizeof line, f)) {
        const char *at = strstr(line, "*/");
        if (!at || !strchr(at, ';'))
            continue;
        for (at += 2; *at == ' ';)
            at++;
        bool never = strncmp(at, "@!PT ", 5) == 0;
        if (*at == '@')
            at += strcspn(at, " ") + 1;
        if (!never && count < MOST && short_name(at, out[count]))
            count++;
    }
    return pclose(f) == 0 ? count : 0;
}

/* Whether the listing has what was read. */
static bool as_listed(struct assembled *x)
{
    static char listed[MOST][32], read[MOST][32];
    size_t count = listing(x, listed), ours = 0;
    for (size_t i = 0; i < x->sass.count && ours < MOST; i++) {
        name_of(&x->sass.list[i], read[ours]);
        ours += *read[ours] != 0;
    }
    qsort(listed, count, sizeof *listed, by_text);
    qsort(read, ours, sizeof *read, by_text);
    for (size_t i = 0; count == ours && i < count; i++)
        if (strcmp(listed[i], read[i]) != 0) {
            print_error("listed %s, read %s\n", listed[i], read[i]);
            return false;
        }
    if (count != ours)
        print_error("%zu accesses are listed, %zu were read\n", count, ours);
    return count == ours;
}

/* --- the kernels that ship --- */

/* What the assembler does to them that is known: by file, type and what it does. */
static const struct {
    const char *file;
    tw_dtype type;
    const char *fate;
} known[] = {
    /* rows of q are the same each time, but the loop loads them anew where the product stages
     * them */
    {"fused/attention.tile", TW_F32, "moved out of a loop"},
    /* what is read ahead behind the last step is multiplied by nobody */
    {"matmul/nt.tile", TW_F16, "left out"},
    {"matmul/nt.tile", TW_BF16, "left out"},
    {"matmul/nt.tile", TW_DTYPE_NONE, "left out"}, /* of bytes */
    /* ptxas repeats the loop over the two levels of groups */
    {"matmul/split_parts.tile", TW_F32, "repeated more"},
    {"matmul/split_parts.tile", TW_F16, "repeated more"},
    {"matmul/split_parts.tile", TW_BF16, "repeated more"},
    /* ptxas takes 128 of 142 registers, so that a block more fits, and keeps 8 bytes in memory */
    {"recipes/rms_norm_matmul.tile", TW_F16, "added by the assembler"},
    {"recipes/rms_norm_matmul.tile", TW_BF16, "added by the assembler"},
    {"matmul/ragged.tile", TW_F16, "left out"},
    {"matmul/ragged.tile", TW_BF16, "left out"},
    {"matmul/read_ahead.tile", TW_F16, "left out"},
    {"matmul/read_ahead.tile", TW_BF16, "left out"},
};

static int64_t size_of(const char *name)
{
    static const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"d", 64},    {"causal", 1}, {"cols", 1024}, {"heads", 16},
                 {"batch", 4}, {"nq", 2048},  {"nk", 2048},   {"h", 64},
                 {"w", 64},    {"r", 3},      {"s", 3},       {"group", 8}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(sizes[i].name, name) == 0)
            return sizes[i].value;
    return 4096;
}

/* A kernel as it is by default, for a type (the first of them has `listed`) and a target. */
struct shipped {
    tw_context *ctx;
    tw_kernel *kernel;
    const char *file, *target;
    tw_type types; /* count 0: it has none */
    tw_dtype type;
    bool listed; /* compared with a listing too */
};

static bool is_known(const struct shipped *k, const struct sim_assembled_line *line)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(k->file, known[i].file) && known[i].type == k->type &&
            strcmp(known[i].fate, line->why) == 0)
            return true;
    return false;
}

static void check_text(const struct shipped *k, const char *text)
{
    struct assembled x = {0};
    struct sim_assembled found;
    int wrong = 0;
    assert_true(assemble(&x, text, k->target));
    assert_true(x.sass.count > 0);
    compare(&x, &found);
    for (size_t i = 0; i < found.line_count; i++) {
        const struct sim_assembled_line *line = &found.lines[i];
        if (is_known(k, line))
            continue;
        print_error("%s:%u %s\n", line->file, line->line, line->why);
        wrong++;
    }
    if (disassembler && k->listed)
        wrong += !as_listed(&x);
    if (wrong)
        fail_msg("%s, %s for %s", k->file, tw_dtype_name(k->type), k->target);
    arena_free(&x.arena);
}

static void check_kernel(const struct shipped *k)
{
    tw_launch *l;
    tw_param p = tw_param_init();
    const char *text;
    assert_int_equal(tw_launch_new(k->kernel, &l), TW_OK);
    for (int i = 0; tw_kernel_param(k->kernel, i, &p) == TW_OK; i++)
        if (!p.is_pointer && !p.derived && !p.default_value.kind)
            assert_int_equal(tw_launch_set(l, p.name, tw_int(size_of(p.name))), TW_OK);
    if (k->types.count)
        assert_int_equal(tw_launch_type(l, k->types.name, k->type), TW_OK);
    if (tw_launch_show_stage(l, TW_STAGE_PTX, &text) != TW_OK)
        fail_msg("%s: %s", k->file, tw_context_messages(k->ctx));
    check_text(k, text);
    tw_launch_free(l);
}

static int check_types(struct shipped *k)
{
    k->types = tw_type_init();
    if (!tw_kernel_type_count(k->kernel) || tw_kernel_type(k->kernel, 0, &k->types) != TW_OK)
        k->types.count = 0;
    int count = k->types.count ? k->types.count : 1;
    for (int i = 0; i < count; i++) {
        k->type = k->types.count ? k->types.choices[i] : TW_DTYPE_NONE;
        k->listed = i == 0;
        check_kernel(k);
    }
    return count;
}

static int check_file(const char *file)
{
    static const char *const targets[] = {"sm_80", "sm_90"};
    tw_context *ctx;
    tw_module *m;
    int count = 0;
    assert_int_equal(tw_context_new(NULL, &ctx), TW_OK);
    assert_int_equal(tw_module_from_file(ctx, file, &m), TW_OK);
    bool narrow = strstr(file, "/fp8") != NULL; /* GPUs have 8-bit floats from sm_89 on */
    for (int i = 0; i < tw_module_kernel_count(m); i++)
        for (int t = narrow; t < 2; t++) {
            struct shipped k = {.ctx = ctx, .file = file, .target = targets[t]};
            tw_kernel *host = tw_module_kernel_at(m, i);
            assert_int_equal(tw_kernel_for_target(host, targets[t], &k.kernel), TW_OK);
            count += check_types(&k);
        }
    tw_context_free(ctx);
    return count;
}

static void shipped_kernels(void **state)
{
    (void)state;
    glob_t files;
    int count = 0;
    if (!have_assembler())
        return;
    if (!disassembler)
        print_message("there is no nvdisasm nor cuobjdump: accesses as our own reader has them\n");
    assert_int_equal(glob(TW_TEST_ROOT "/kernels/*/*.tile", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        if (!strstr(files.gl_pathv[i], "/hopper/")) /* for sm_90a alone */
            count += check_file(files.gl_pathv[i]);
    globfree(&files);
    assert_true(count >= 70);
}

/* --- every form --- */

/* Volatile, so that each is kept as it is; of what cannot be, each result is stored. */
static void write_forms(struct text *out, int target)
{
    static const char *const spaces[] = {".shared", ".global", ""};
    static const char *const addresses[] = {"%s", "%g", "%x"};
    static const char *const types[][2] = {{"u8", "%r1"},
                                           {"s16", "%r1"},
                                           {"f32", "%f1"},
                                           {"b64", "%d1"},
                                           {"v2.u8", "{%r1, %r2}"},
                                           {"v2.u16", "{%r1, %r2}"},
                                           {"v2.u32", "{%r1, %r2}"},
                                           {"v2.u64", "{%d1, %d2}"},
                                           {"v4.u8", "{%r1, %r2, %r3, %r4}"},
                                           {"v4.u16", "{%r1, %r2, %r3, %r4}"},
                                           {"v4.f32", "{%f1, %f2, %f3, %f4}"}};
    text_printf(out,
                ".version 8.8\n.target sm_%d\n.address_size 64\n"
                ".visible .entry k(.param .u64 p, .param .u64 q)\n{\n"
                ".reg .b32 %%r<5>, %%s;\n.reg .f32 %%f<5>;\n.reg .b64 %%d<3>, %%g, %%x;\n"
                ".shared .align 16 .b8 room[1024];\nld.param.u64 %%g, [p];\n"
                "ld.param.u64 %%x, [q];\nmov.u32 %%s, room;\n",
                target);
    for (int i = 0; i < 3; i++)
        for (size_t k = 0; k < sizeof types / sizeof *types; k++)
            text_printf(out, "ld.volatile%s.%s %s, [%s];\nst.volatile%s.%s [%s], %s;\n", spaces[i],
                        types[k][0], types[k][1], addresses[i], spaces[i], types[k][0],
                        addresses[i], types[k][1]);
    text_add(out, "cp.async.ca.shared.global [%s], [%g], 4;\n"
                  "cp.async.ca.shared.global [%s], [%g], 8;\n"
                  "cp.async.cg.shared.global [%s], [%g], 16;\ncp.async.wait_all;\n"
                  "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%s];\n"
                  "st.volatile.shared.u32 [%s], %r1;\n"
                  "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%s];\n"
                  "st.volatile.shared.u32 [%s], %r1;\n"
                  "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%s];\n"
                  "st.volatile.shared.v4.u32 [%s], {%r1, %r2, %r3, %r4};\n"
                  "atom.shared.add.u32 %r1, [%s], %r2;\nst.volatile.shared.u32 [%s], %r1;\n"
                  "atom.global.cas.b32 %r1, [%g], %r2, %r3;\nst.volatile.shared.u32 [%s], %r1;\n"
                  "red.global.add.u32 [%g], %r2;\nred.global.add.f32 [%g], %f1;\n"
                  "atom.global.add.f32 %f2, [%g], %f1;\nst.volatile.shared.f32 [%s], %f2;\n");
    if (target >= 90)
        text_add(out, "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%s], {%r1};\n"
                      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%s], {%r1, %r2, %r3, %r4};\n");
    text_add(out, "ret;\n}\n");
}

static void every_form(void **state)
{
    static const int targets[] = {80, 86, 89, 90, 100, 103, 120};
    (void)state;
    if (!have_assembler())
        return;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        char target[16];
        struct assembled x = {0};
        struct arena arena;
        jmp_buf no_memory;
        struct text text;
        struct sim_assembled found;
        arena_init(&arena, &allocator_libc, &no_memory);
        text_init(&text, &arena);
        write_forms(&text, targets[i]);
        snprintf(target, sizeof target, "sm_%d", targets[i]);
        if (assemble(&x, text.data, target)) {
            compare(&x, &found);
            for (size_t k = 0; k < found.line_count; k++)
                print_error("%s: %s:%u %s\n", target, found.lines[k].file, found.lines[k].line,
                            found.lines[k].why);
            assert_true(found.exact);
        }
        arena_free(&x.arena);
        arena_free(&arena);
    }
}

/* --- texts that are not machine code --- */

static uint64_t seed = 1;
static uint32_t draw(uint32_t below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % below);
}

/* Cut short, or with a few bytes changed: read as far as it goes, or refused. */
static void damaged(void **state)
{
    (void)state;
    struct assembled x = {0};
    struct arena arena, scratch;
    jmp_buf no_memory;
    struct text text;
    char path[64];
    size_t length;
    if (!have_assembler())
        return;
    arena_init(&arena, &allocator_libc, &no_memory);
    arena_init(&scratch, &allocator_libc, &no_memory);
    text_init(&text, &arena);
    write_forms(&text, 90);
    assert_true(assemble(&x, text.data, "sm_90"));
    snprintf(path, sizeof path, "%s/k.cubin", folder);
    const char *whole = read_file(&x.arena, path, &length);
    for (int n = 0; n < 4000; n++) {
        struct sass sass;
        size_t kept = draw(4) ? length : draw((uint32_t)length);
        char *code = malloc(kept + 1);
        memcpy(code, whole, kept);
        for (uint32_t i = draw(20); kept && i > 0; i--)
            code[draw((uint32_t)kept)] = (char)draw(256);
        for (uint32_t i = draw(4); kept > 64 && i > 0; i--) /* the header, and that of sections */
            code[draw(2) ? draw(64) : kept - 1 - draw(64)] = (char)draw(256);
        sass_read(&scratch, code, kept, x.module, "k", &sass);
        free(code);
        arena_free(&scratch);
    }
    arena_free(&x.arena);
    arena_free(&arena);
}

static void public_calls(void **state)
{
    (void)state;
    static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry k()\n{\nret;\n}\n";
    static const char junk[128] = "\177ELF";
    tw_context *ctx;
    tw_ptx *p;
    assert_int_equal(tw_context_new(NULL, &ctx), TW_OK);
    assert_int_equal(tw_ptx_from_text(ctx, "k.ptx", text, strlen(text), &p), TW_OK);
    assert_string_equal(tw_ptx_target(p), "sm_80");
    assert_int_equal(tw_ptx_machine_code(p, NULL, 0), TW_BAD_ARGUMENT);
    assert_int_equal(tw_ptx_machine_code(NULL, junk, sizeof junk), TW_BAD_ARGUMENT);
    assert_int_equal(tw_ptx_machine_code(p, junk, sizeof junk), TW_BAD_PROGRAM);
    assert_non_null(strstr(tw_context_messages(ctx), "this is not machine code of a GPU"));
    tw_sim_options options = {.size = sizeof options, .watch = TW_WATCH_COUNTERS};
    tw_sim_result r = tw_sim_result_init();
    assert_int_equal(
        tw_ptx_simulate(p, &(tw_ptx_launch){.size = sizeof(tw_ptx_launch)}, &options, &r), TW_OK);
    assert_non_null(
        strstr(r.counters_json, "\"as_assembled\": {\"assembler\": null, \"exact\": true"));
    struct assembled x = {0};
    if (have_assembler() && assemble(&x, text, "sm_80")) {
        char path[64];
        size_t length;
        snprintf(path, sizeof path, "%s/k.cubin", folder);
        const char *code = read_file(&x.arena, path, &length);
        assert_int_equal(tw_ptx_machine_code(p, code, length), TW_OK);
        assert_int_equal(
            tw_ptx_simulate(p, &(tw_ptx_launch){.size = sizeof(tw_ptx_launch)}, &options, &r),
            TW_OK);
        assert_non_null(strstr(r.counters_json, " for sm_80\", \"exact\": true"));
        arena_free(&x.arena);
    }
    tw_context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shipped_kernels),
                                       cmocka_unit_test(every_form), cmocka_unit_test(damaged),
                                       cmocka_unit_test(public_calls)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
