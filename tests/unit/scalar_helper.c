#include "scalar_helper.h"

#include "cuda/cuda.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static jmp_buf failed;

void bench_open(struct bench *b, int target)
{
    memset(b, 0, sizeof *b);
    arena_init(&b->arena, &allocator_libc, &failed);
    b->target = (struct ptx_target){(uint8_t)target, 0};
    ptx_build_start(&b->build, &b->arena, b->target);
    b->out.build = &b->build;
}

void bench_close(struct bench *b)
{
    arena_free(&b->arena);
}

enum thread_opcode opcode_of(enum op op)
{
    char text[24];
    size_t length = 0;
    switch (op) {
    case OP_INVERT: return THREAD_NOT;
    case OP_LAND: return THREAD_AND;
    case OP_LOR: return THREAD_OR;
    case OP_WHERE: return THREAD_SELECT;
    default: break;
    }
    for (const char *at = op_table[op].id; *at; at++)
        text[length++] = (char)tolower((unsigned char)*at);
    const enum thread_opcode found = thread_opcode_of(text, length);
    assert_int_not_equal(found, THREAD_OPS);
    return found;
}

/* Returns a shift's amount, of type t, as 32 bits. */
static struct ptx_operand amount(struct nvptx_scalars *out, enum dtype t, struct ptx_operand x)
{
    struct ptx_operand least = ptx_reg(out->build, PTX_U64), all = ptx_reg(out->build, PTX_U32);
    if (!is_wide(t))
        return x;
    ptx_emit(out->build, "min.u64", least, x, ptx_int(64));
    ptx_emit(out->build, "cvt.u32.u64", all, least);
    return all;
}

struct ptx_operand emit_op(struct nvptx_scalars *out, const struct subject *s,
                           const struct ptx_operand *args)
{
    struct ptx_operand x[SUBJECT_ARGS] = {args[0], args[1], args[2]};
    if (s->op == OP_PHILOX)
        return nvptx_random(out, DT_U64, args, s->count);
    if (s->op == OP_SHL || s->op == OP_SHR)
        x[1] = amount(out, s->t, x[1]);
    struct ptx_operand result = nvptx_op(out, opcode_of(s->op), s->t, x, s->count);
    assert_false(out->without_code);
    return result;
}

/* --- elements in memory --- */

static const char *const access_names[DT_COUNT] = {
    [DT_F64] = "f64", [DT_F32] = "f32",  [DT_F16] = "b16", [DT_BF16] = "b16",
    [DT_I64] = "b64", [DT_I32] = "b32",  [DT_I16] = "s16", [DT_I8] = "s8",
    [DT_U64] = "b64", [DT_U32] = "b32",  [DT_U16] = "u16", [DT_U8] = "u8",
    [DT_BOOL] = "u8", [DT_TF32] = "f32", [DT_E4M3] = "u8", [DT_E5M2] = "u8"};

static const char *named(struct bench *b, const char *what, enum dtype t)
{
    return arena_printf(&b->arena, "%s.global.%s", what, access_names[t]);
}

static struct ptx_operand element(struct bench *b, struct ptx_variable *array,
                                  struct ptx_operand index, enum dtype t)
{
    struct ptx_builder *p = &b->build;
    struct ptx_operand base = ptx_reg(p, PTX_U64), at = ptx_reg(p, PTX_U64);
    ptx_emit(p, "ld.param.u64", base, ptx_at_variable(array, 0));
    ptx_emit(p, "mad.wide.u32", at, index, ptx_int((int64_t)dtype_size(t)), base);
    return at;
}

static struct ptx_operand load(struct bench *b, struct ptx_variable *array,
                               struct ptx_operand index, enum dtype t)
{
    struct ptx_builder *p = &b->build;
    struct ptx_operand at = element(b, array, index, t);
    struct ptx_operand x = t == DT_BOOL ? ptx_reg(p, PTX_U32) : nvptx_new_register(&b->out, t);
    ptx_emit(p, named(b, "ld", t), x, ptx_at(at, 0));
    if (t != DT_BOOL)
        return x;
    struct ptx_operand truth = ptx_reg(p, PTX_PRED);
    ptx_emit(p, "setp.ne.u32", truth, x, ptx_int(0));
    return truth;
}

static void store(struct bench *b, struct ptx_variable *array, struct ptx_operand index,
                  enum dtype t, struct ptx_operand x)
{
    struct ptx_builder *p = &b->build;
    struct ptx_operand at = element(b, array, index, t);
    if (t == DT_BOOL) {
        struct ptx_operand byte = ptx_reg(p, PTX_U32);
        ptx_emit(p, "selp.u32", byte, ptx_int(1), ptx_int(0), x);
        x = byte;
    }
    ptx_emit(p, named(b, "st", t), ptx_at(at, 0), x);
}

/* --- kernels --- */

static int instructions_in(const struct ptx_function *f)
{
    int n = 0;
    for (size_t i = 0; i < f->body.count; i++)
        n += f->body.data[i].kind == PTX_AT_INSTRUCTION;
    return n;
}

struct ptx_function *bench_add(struct bench *b, const struct subject *s)
{
    static const char *const names[SUBJECT_ARGS] = {"a", "b", "c"};
    struct ptx_builder *p = &b->build;
    struct ptx_variable *array[SUBJECT_ARGS];
    struct ptx_operand x[SUBJECT_ARGS] = {{0}};
    ptx_begin_kernel(p, s->name);
    struct ptx_function *f = p->function;
    struct ptx_variable *out = ptx_parameter(p, PTX_U64, "out");
    for (int i = 0; i < s->count; i++)
        array[i] = ptx_parameter(p, PTX_U64, names[i]);
    struct ptx_operand index = ptx_reg(p, PTX_U32), block = ptx_reg(p, PTX_U32),
                       size = ptx_reg(p, PTX_U32);
    ptx_emit(p, "mov.u32", index, ptx_special(PTX_SREG_TID_X));
    ptx_emit(p, "mov.u32", block, ptx_special(PTX_SREG_CTAID_X));
    ptx_emit(p, "mov.u32", size, ptx_special(PTX_SREG_NTID_X));
    ptx_emit(p, "mad.lo.u32", index, block, size, index);
    for (int i = 0; i < s->count; i++)
        x[i] = load(b, array[i], index, s->arg[i]);
    int before = instructions_in(f);
    struct ptx_operand y = s->emit(&b->out, s, x);
    b->instructions = instructions_in(f) - before;
    store(b, out, index, s->result, y);
    ptx_emit_plain(p, "ret");
    ptx_end(p);
    return f;
}

/* --- on a GPU --- */

static void must(bool good, const struct subject *s, const char *why)
{
    if (!good)
        fail_msg("%s: %s", s->name, why);
}

enum { GPU_BLOCK = 64, SKIPPED = 77 /* ctest's SKIP_RETURN_CODE */ };

/* Runs a module with that kernel alone. The last block also computes elements past n, which are
 * not compared. */
static void run_on_gpu(int target, const struct subject *s, void *out, const void *const *args,
                       size_t n)
{
    char why[CUDA_WHY];
    struct bench b;
    struct text text;
    uint64_t array[1 + SUBJECT_ARGS];
    void *arguments[1 + SUBJECT_ARGS];
    size_t room = (n + GPU_BLOCK) * sizeof(uint64_t);
    bench_open(&b, target);
    bench_add(&b, s);
    text_init(&text, &b.arena);
    ptx_print(&text, b.build.module);
    static struct cuda *gpu; /* opened once, because that is slow */
    gpu = gpu ? gpu : cuda_open(&allocator_libc, 0, why);
    if (!gpu) {
        printf("skipped: %s\n", why);
        exit(SKIPPED);
    }
    struct cuda_module *module = cuda_load(gpu, text.data, s->name, why);
    must(module, s, why);
    for (int i = 0; i <= s->count; i++) {
        must(cuda_allocate(gpu, room, &array[i], why) &&
                 cuda_fill(gpu, array[i], 0, room, NULL, why),
             s, why);
        arguments[i] = &array[i];
        if (i > 0)
            must(cuda_copy_in(gpu, array[i], args[i - 1], n * dtype_size(s->arg[i - 1]), NULL, why),
                 s, why);
    }
    struct cuda_launch launch = {.grid = {(int64_t)(n + GPU_BLOCK - 1) / GPU_BLOCK, 1, 1},
                                 .block = {GPU_BLOCK, 1, 1},
                                 .arguments = arguments};
    must(cuda_start(gpu, module, &launch, NULL, why) &&
             cuda_copy_out(gpu, out, array[0], n * dtype_size(s->result), NULL, why),
         s, why);
    for (int i = 0; i <= s->count; i++)
        must(cuda_free(gpu, array[i], why), s, why);
    cuda_unload(gpu, module);
    bench_close(&b);
}

void bench_run(struct bench *b, const struct ptx_function *f, const struct subject *s, void *out,
               const void *const *args, size_t n, int slip)
{
    struct ptx_thread t;
    uint64_t pointers[1 + SUBJECT_ARGS];
    if (getenv("TW_TEST_GPU")) {
        run_on_gpu(b->target.number, s, out, args, n);
        return;
    }
    ptx_thread_init(&t, &b->arena, f);
    pointers[0] = (uint64_t)(uintptr_t)out;
    for (int i = 0; i < s->count; i++)
        pointers[1 + i] = (uint64_t)(uintptr_t)args[i];
    t.arguments = pointers;
    t.slip = slip;
    for (size_t i = 0; i < n; i++) {
        t.index = (uint32_t)i;
        const char *unknown = ptx_thread_run(&t);
        if (unknown)
            fail_msg("%s: `%s` is not executed here", s->name, unknown);
    }
}

/* --- the assembler --- */

static bool has_ptxas(void)
{
    return system("ptxas --version > /dev/null 2>&1") == 0;
}

void bench_assemble(struct bench *b)
{
    char path[] = "/tmp/tilewright_op_XXXXXX", command[256];
    struct diag diag;
    struct text text;
    diag_init(&diag, &b->arena);
    text_init(&text, &b->arena);
    if (!ptx_verify(b->build.module, &diag)) {
        diag_render(&text, &diag, false);
        fail_msg("%s", text.data);
    }
    if (!has_ptxas())
        return;
    ptx_print(&text, b->build.module);
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, text.data, text.length) == (ssize_t)text.length);
    close(file);
    snprintf(command, sizeof command, "ptxas -Werror -arch=sm_%d %s -o /dev/null 1>&2",
             b->target.number, path);
    int status = system(command);
    if (status == 0)
        unlink(path);
    if (status != 0)
        fail_msg("ptxas does not take %s", path);
}
