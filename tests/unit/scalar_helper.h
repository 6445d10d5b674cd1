/* Kernels with one elementwise op each: builds them, executes them element by element, assembles
 * them. */
#ifndef SCALAR_HELPER_H
#define SCALAR_HELPER_H

#include "nvptx/nvptx_scalars.h"
#include "tile/tile.h"

#include "ptx_thread.h"

enum { SUBJECT_ARGS = 3 };

/* out[i] = emit(a[i], b[i], c[i]) for elements of these types; operands whose array is NULL are
 * left out. */
struct subject {
    const char *name;
    enum dtype result, arg[SUBJECT_ARGS];
    int count;
    struct ptx_operand (*emit)(struct nvptx_scalars *out, const struct subject *s,
                               const struct ptx_operand *args);
    /* for emit */
    enum op op;
    enum dtype t;
};

struct bench {
    struct arena arena;
    struct ptx_target target;
    struct ptx_builder build;
    struct nvptx_scalars out; /* of `build` */
    int instructions;         /* of the last op */
};

/* Opens a module for sm_<target>. */
void bench_open(struct bench *b, int target);
void bench_close(struct bench *b);
/* Adds the kernel of that subject to the module. */
struct ptx_function *bench_add(struct bench *b, const struct subject *s);
/* Executes the kernel element by element; slip: see ptx_thread.h. Fails the test if an
 * instruction is not known. With TW_TEST_GPU in the environment it runs on this machine's GPU
 * and ignores slip. */
void bench_run(struct bench *b, const struct ptx_function *f, const struct subject *s, void *out,
               const void *const *args, size_t n, int slip);
/* Assembles the whole module by ptxas, if that is installed; warnings are errors. */
void bench_assemble(struct bench *b);

/* Returns the operation of thread IR for an elementwise op of the language. */
enum thread_opcode opcode_of(enum op op);
/* Emits s->op on operands of s->t; of a shift the amount has this type, too. */
struct ptx_operand emit_op(struct nvptx_scalars *out, const struct subject *s,
                           const struct ptx_operand *args);

#endif
