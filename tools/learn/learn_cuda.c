#include "learn/learn_cuda.h"
#include "cli/cuda_source.h"
#include "learn/learn_formula.h"
#include "cli/mangled.h"
#include "cli/target.h"
#include "cli/tensor.h"
#include "cli/toolchain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MACROS = 16, COMPILER_SECONDS = 10 };

/* Lists "-DSIZE=4" for each tuned value that cases give. */
static int macros_of(const struct case_at_hand *c, char *list[MOST_MACROS])
{
    tw_tune t = tw_tune_init();
    tw_value v;
    char number[64];
    int count = 0;
    for (int i = 0; tw_kernel_tune(c->kernel, i, &t) == TW_OK && count < MOST_MACROS; i++) {
        if (!cases_bind(c->cases, t.name) || tw_launch_value(c->launch, t.name, &v) != TW_OK)
            continue;
        format_scalar(number, sizeof number, v, TW_DTYPE_NONE);
        list[count++] = need_text("-D%s=%s", t.name, number);
    }
    return count;
}

/* Returns the answer's file; writes the text to one if there is none. */
static const char *file_of(struct answer *a)
{
    if (a->folder || !a->embedded)
        return a->path;
    a->folder = folder_make(NULL);
    if (!a->folder || !folder_write(a->folder, "solution.cu", a->text, strlen(a->text)))
        return a->path; /* the compiler reports that it cannot read it */
    free(a->path);
    a->path = need_text("%s/solution.cu", a->folder);
    return a->path;
}

/* --- compiling --- */

static void show_sources(struct answer *a, tw_ptx *ptx)
{
    const char *name;
    for (int i = 0; (name = tw_ptx_source_at(ptx, i)); i++)
        if (strcmp(name, a->path) == 0)
            tw_ptx_source(ptx, name, a->text, strlen(a->text));
}

/* Adds the compiler's messages in `said`: "FILE:LINE:COLUMN: error: …". */
static void take_said(struct answer *a, char *said, struct problems *problems)
{
    char *place = need_text("%s:", a->path);
    const char *error = said ? strstr(said, ": error:") : NULL, *line = error;
    while (line && line > said && line[-1] != '\n')
        line--;
    problems_add(problems, REASON_COMPILE, said ? said : need_text("%s", ""));
    if (line && strncmp(line, place, strlen(place)) == 0) {
        struct problem *p = &problems->list[problems->count - 1];
        p->file = need_text("%s", a->path);
        p->line = atoi(line + strlen(place));
    }
    free(place);
}

static bool begins_word(const char *text, const char *at)
{
    return at == text || isspace((unsigned char)at[-1]);
}

static bool has_fence(const char *ptx)
{
    static const char *const fences[] = {"fence.", "membar."};
    for (size_t i = 0; i < sizeof fences / sizeof *fences; i++)
        for (const char *at = ptx; (at = strstr(at, fences[i])); at++)
            if (begins_word(ptx, at))
                return true;
    return false;
}

/* Returns the length of the qualifiers, after `ld` or `st`, that make the access at `at` strong,
 * or 0 if it is weak. */
static size_t strong_length(const char *at)
{
    static const char *const strong[] = {".volatile.", ".relaxed.cta.", ".relaxed.cluster.",
                                         ".relaxed.gpu.", ".relaxed.sys."};
    if (strncmp(at, "ld", 2) != 0 && strncmp(at, "st", 2) != 0)
        return 0;
    for (size_t i = 0; i < sizeof strong / sizeof *strong; i++)
        if (strncmp(at + 2, strong[i], strlen(strong[i])) == 0)
            return strlen(strong[i]) - 1;
    return 0;
}

/* Makes volatile and relaxed accesses plain if there is no fence. In PTX such accesses never
 * race and order nothing by themselves; the simulator finds the races of plain accesses. */
static void make_accesses_plain(char *ptx)
{
    char *to = ptx;
    if (has_fence(ptx))
        return;
    for (const char *at = ptx; *at;) {
        size_t strong = begins_word(ptx, at) ? strong_length(at) : 0;
        if (strong) {
            *to++ = *at++;
            *to++ = *at++;
            at += strong;
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
}

static int compile(struct answer *a, struct cuda_program *out, char *const *macros, int count,
                   struct problems *problems)
{
    char *ptx = NULL, *said;
    const char *arguments[MOST_MACROS];
    for (int i = 0; i < count; i++)
        arguments[i] = macros[i];
    struct cuda_settings settings = {.compiler = a->compiler,
                                     .clang_first = true,
                                     .arguments = arguments,
                                     .argument_count = count,
                                     .seconds = COMPILER_SECONDS,
                                     .said = &said};
    int status = cuda_compile_with(file_of(a), &settings, NULL, &ptx);
    if (status != STATUS_OK && !said)
        return status; /* there is no compiler; that was reported */
    if (status != STATUS_OK) {
        take_said(a, said, problems);
        return STATUS_OK;
    }
    if (!a->said && said && *said)
        a->said = said;
    else
        free(said);
    char *name = need_text("%s.ptx", a->path);
    make_accesses_plain(ptx);
    tw_status s = tw_ptx_from_text(a->ctx, name, ptx, strlen(ptx), &out->ptx);
    if (s != TW_OK)
        problems_take_messages(problems, a->ctx, s);
    else
        show_sources(a, out->ptx);
    free(name);
    free(ptx);
    return STATUS_OK;
}

/* --- the signature --- */

static char *no_kernel_text(const struct cuda_program *p, const char *name)
{
    char *text = need_text("error: it has no kernel `%s`: ", name);
    const char *near;
    for (int i = 0; (near = tw_ptx_kernel_called(p->ptx, i)); i++)
        append_text(&text, "%s`%s`", i ? ", " : "there is ", near);
    if (tw_ptx_kernel_count(p->ptx))
        append_text(&text, "\n");
    else
        append_text(&text, "it has none; a kernel is `__global__ void %s(…)`\n", name);
    return text;
}

static void find_kernel(struct cuda_program *p, const char *name, struct problems *problems)
{
    for (int i = 0; i < tw_ptx_kernel_count(p->ptx); i++)
        if (strcmp(tw_ptx_kernel_called(p->ptx, i), name) == 0)
            p->kernel = tw_ptx_kernel_at(p->ptx, i);
    if (!p->kernel)
        problems_add(problems, REASON_SIGNATURE, no_kernel_text(p, name));
}

/* Returns "is `double *` here, and `float *` in the starter", or NULL if the types are the same
 * or not known. Ignores const and signedness. The caller frees. */
static char *other_types(const struct cuda_program *p, int index, const tw_param *want)
{
    struct c_type here, there = {.bytes = tw_dtype_size(want->dtype),
                                 .is_float = is_float_type(want->dtype),
                                 .is_pointer = want->is_pointer};
    there.name = c_number_name(there.bytes, there.is_float);
    if (!mangled_param(p->kernel, index, &here) || !here.name || !there.name)
        return NULL;
    if (here.bytes == there.bytes && here.is_float == there.is_float &&
        here.is_pointer == there.is_pointer)
        return NULL;
    char *mine = c_type_text(&here), *starter = c_type_text(&there);
    char *text = need_text("is `%s` here, and `%s` in the starter", mine, starter);
    free(mine);
    free(starter);
    return text;
}

static void check_params(const struct cuda_program *p, tw_kernel *k, struct problems *problems)
{
    int count = tw_kernel_param_count(k), here = tw_ptx_param_count(p->ptx, p->kernel);
    if (here != count) {
        problems_add(problems, REASON_SIGNATURE,
                     need_text("error: `%s` has %d parameters here, and %d in the starter\n",
                               tw_kernel_name(k), here, count));
        return;
    }
    for (int i = 0; i < count; i++) {
        tw_param want = tw_param_init();
        tw_ptx_param have = tw_ptx_param_init();
        tw_kernel_param(k, i, &want);
        size_t bytes = want.is_pointer ? sizeof(uint64_t) : tw_dtype_size(want.dtype);
        char *types = other_types(p, i, &want);
        if (!types && tw_ptx_param_at(p->ptx, p->kernel, i, &have) == TW_OK && have.bytes == bytes)
            continue;
        problems_add(problems, REASON_SIGNATURE,
                     need_text("error: parameter %d of `%s`, %s, %s\n", i + 1, tw_kernel_name(k),
                               want.name,
                               types ? types : "has another type here than in the starter"));
        free(types);
        return;
    }
}

static int find_program_for(struct answer *a, const struct case_at_hand *c,
                            struct problems *problems)
{
    char *macros[MOST_MACROS], *defines = need_text("%s", "");
    int count = macros_of(c, macros), status = STATUS_OK, found = -1;
    for (int i = 0; i < count; i++)
        append_text(&defines, "%s ", macros[i]);
    for (int i = 0; i < a->program_count; i++)
        if (strcmp(a->programs[i].defines, defines) == 0)
            found = i;
    if (found < 0) {
        NEED_ROOM(a->programs, a->program_count);
        found = a->program_count++;
        a->programs[found] = (struct cuda_program){.defines = defines};
        defines = NULL;
        status = compile(a, &a->programs[found], macros, count, problems);
        if (status == STATUS_OK && !problems->count)
            find_kernel(&a->programs[found], tw_kernel_name(c->kernel), problems);
        if (status == STATUS_OK && !problems->count)
            check_params(&a->programs[found], c->kernel, problems);
    }
    a->program = &a->programs[found];
    free(defines);
    for (int i = 0; i < count; i++)
        free(macros[i]);
    return status;
}

/* --- the launch --- */

/* Reads up to three extents: "cdiv(n, TPB), 1". */
static const char *read_extents(const struct case_at_hand *c, const char *text, int64_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    char *one = NULL;
    const char *wrong = NULL;
    for (int i = 0, depth = 0; !wrong && text && i < 3; i++) {
        size_t length = 0;
        for (; text[length] && (depth || text[length] != ','); length++)
            depth += (text[length] == '(') - (text[length] == ')');
        double value = 0;
        free(one);
        one = need_text("%.*s", (int)length, text);
        wrong = case_formula(c, one, -1, &value);
        out[i] = (int64_t)value;
        text = text[length] ? text + length + 1 : NULL;
    }
    free(one);
    return wrong;
}

static void make_arguments(struct answer *a, const struct case_at_hand *c)
{
    int count = tw_kernel_param_count(c->kernel), array = 0;
    tw_param p = tw_param_init();
    tw_value v;
    a->arguments = need_memory((size_t)count * sizeof *a->arguments);
    a->values = need_memory((size_t)count * sizeof *a->values);
    for (int i = 0; tw_kernel_param(c->kernel, i, &p) == TW_OK; i++) {
        if (p.is_pointer) {
            const struct case_array *x = &c->arrays.list[array++];
            a->arguments[i] = (tw_ptx_argument){.name = p.name,
                                                .data = x->array.data,
                                                .bytes = tensor_bytes(&x->array),
                                                .is_array = true,
                                                .uninitialised = !x->given};
            continue;
        }
        tw_launch_value(c->launch, p.name, &v);
        if (is_float_type(p.dtype))
            tw_dtype_store(p.dtype, &a->values[i], v.kind == TW_FLOAT ? v.f : (double)v.i);
        else
            memcpy(&a->values[i], &v.i, sizeof v.i); /* little-endian, as GPUs are */
        a->arguments[i] = (tw_ptx_argument){
            .name = p.name, .data = &a->values[i], .bytes = tw_dtype_size(p.dtype)};
    }
    a->ptx_launch = (tw_ptx_launch){.size = sizeof(tw_ptx_launch),
                                    .kernel = a->program->kernel,
                                    .arguments = a->arguments,
                                    .argument_count = count};
}

int cuda_answer_take(struct answer *a, const struct case_at_hand *c, struct problems *problems)
{
    int status = find_program_for(a, c, problems);
    if (status != STATUS_OK || problems->count)
        return status;
    int64_t block[3];
    make_arguments(a, c);
    const char *wrong = read_extents(c, c->cases->grid, a->ptx_launch.grid);
    if (!wrong)
        wrong = read_extents(c, c->cases->block, block);
    if (wrong)
        problems_add(problems, REASON_FAULT, need_text("error: the puzzle's launch: %s\n", wrong));
    for (int i = 0; i < 3 && !wrong; i++)
        a->ptx_launch.block[i] = (int)block[i];
    return STATUS_OK;
}
