/* PTX to machine code: from the cache, by `ptxas` if there is one, otherwise by the driver.
 *
 * The driver's linker would give machine code that can be stored, but it assembles for linking:
 * it ignores the number of blocks that a multiprocessor should hold, and kernels take up to
 * twice the registers. The code that the driver assembles while loading is as good as ptxas's
 * and goes to the driver's own cache. */
#include "cuda/cuda_own.h"

#include "base/platform.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- ptxas --- */

/* Returns $TILEWRIGHT_PTXAS ("": none), or ptxas as the shell finds it, or the toolkit's. */
static const char *find_ptxas(struct arena *a)
{
    const char *named = getenv("TILEWRIGHT_PTXAS");
    if (named)
        return *named ? platform_find_program(a, named) : NULL;
    const char *found = platform_find_program(a, "ptxas");
    return found ? found : platform_find_program(a, "/usr/local/cuda/bin/ptxas");
}

/* Returns "-arch=sm_90a" if the text is for exactly this GPU, otherwise "-arch=sm_90". */
static const char *arch_of(const struct cuda *c, const struct cuda_text *t)
{
    const char *plain = arena_printf(t->scratch, "sm_%d", c->device.capability);
    const char *at = strstr(t->ptx, ".target ");
    size_t length = strlen(plain);
    at = at ? at + strlen(".target ") : "";
    char own = strncmp(at, plain, length) == 0 ? at[length] : '\0';
    return arena_printf(t->scratch, "-arch=%s%.*s", plain, own == 'a' || own == 'f', &own);
}

struct assembling {
    char folder[256], text[288], cubin[288];
};

static bool start_assembling(struct assembling *x)
{
    if (!platform_temporary_folder(x->folder, sizeof x->folder))
        return false;
    snprintf(x->text, sizeof x->text, "%s/kernel.ptx", x->folder);
    snprintf(x->cubin, sizeof x->cubin, "%s/kernel.cubin", x->folder);
    return true;
}

static void clean_up(const struct assembling *x)
{
    platform_remove_file(x->text);
    platform_remove_file(x->cubin);
    platform_remove_folder(x->folder);
}

/* Returns machine code in scratch memory, or NULL if ptxas made none. */
static const void *run_ptxas(const char *ptxas, const char *arch, const struct assembling *x,
                             const struct cuda_text *t, size_t *length)
{
    const char *why;
    const char *arguments[] = {ptxas, arch, x->text, "-o", x->cubin, NULL};
    if (!platform_store_file(t->scratch, x->text, t->ptx, t->length, &why) ||
        platform_run(arguments) != 0)
        return NULL;
    const char *cubin = platform_read_file(t->scratch, x->cubin, length, &why);
    return cubin && *length ? arena_copy(t->scratch, cubin, *length) : NULL;
}

/* Returns machine code in scratch memory, or NULL if there is no ptxas or it fails. */
static const void *assemble(const struct cuda *c, const struct cuda_text *t, size_t *length)
{
    struct arena *a = t->scratch;
    struct assembling x;
    const char *ptxas = find_ptxas(a), *arch = arch_of(c, t);
    if (!ptxas || !start_assembling(&x))
        return NULL;
    jmp_buf *volatile outer = a->out_of_memory;
    jmp_buf here;
    a->out_of_memory = &here;
    if (setjmp(here)) {
        clean_up(&x);
        a->out_of_memory = outer;
        longjmp(*outer, 1);
    }
    const void *cubin = run_ptxas(ptxas, arch, &x, t, length);
    a->out_of_memory = outer;
    clean_up(&x);
    return cubin;
}

/* --- with the cache --- */

/* Returns the version of ptxas and of the driver that loads its code. */
static const char *assembler_of(struct cuda *c, struct arena *scratch)
{
    int64_t bytes = 0, changed = 0;
    if (c->assembler[0])
        return c->assembler;
    const char *ptxas = find_ptxas(scratch);
    if (ptxas)
        platform_file_stamp(ptxas, &bytes, &changed);
    snprintf(c->assembler, sizeof c->assembler, "CUDA %d, %.120s %" PRId64 " %" PRId64,
             c->device.driver, ptxas ? ptxas : "no ptxas", bytes, changed);
    return c->assembler;
}

static struct cuda_cache_key key_of(struct cuda *c, const struct cuda_text *t)
{
    char target[16];
    snprintf(target, sizeof target, "sm_%d", c->device.capability);
    return cuda_cache_key(&(struct cuda_cache_source){.compiler = t->compiler,
                                                      .ptx = t->ptx,
                                                      .ptx_length = t->length,
                                                      .assembler = assembler_of(c, t->scratch),
                                                      .target = target});
}

/* Without ptxas, the driver assembles, into its own cache. */
static bool assemble_by_loading(struct cuda *c, const struct cuda_text *t, const char *kernel,
                                char why[CUDA_WHY])
{
    struct cuda_module *m = cuda_load(c, t->ptx, kernel, why);
    cuda_unload(c, m);
    return m != NULL;
}

bool cuda_assemble(struct cuda *c, const struct cuda_text *t, const char *kernel,
                   char why[CUDA_WHY])
{
    size_t length = 0;
    struct cuda_cache_key key = key_of(c, t);
    why[0] = '\0';
    if (cuda_cache_find(t->cache, t->scratch, &key, &length))
        return true;
    const void *cubin = cuda_cache_on(t->cache) ? assemble(c, t, &length) : NULL;
    if (!cubin)
        return assemble_by_loading(c, t, kernel, why);
    cuda_cache_store(t->cache, t->scratch, &key, cubin, length);
    return true;
}

/* Code from the cache may still be refused, by an older driver; and PTX that ptxas refuses the
 * driver may take, or give a better error for. */
struct cuda_module *cuda_load_text(struct cuda *c, const struct cuda_text *t, const char *kernel,
                                   char why[CUDA_WHY])
{
    size_t length = 0;
    if (!cuda_cache_on(t->cache))
        return cuda_load(c, t->ptx, kernel, why);
    struct cuda_cache_key key = key_of(c, t);
    const void *cubin = cuda_cache_find(t->cache, t->scratch, &key, &length);
    struct cuda_module *m = cubin ? cuda_load(c, cubin, kernel, why) : NULL;
    if (m)
        return m;
    cubin = assemble(c, t, &length);
    m = cubin ? cuda_load(c, cubin, kernel, why) : NULL;
    if (m)
        cuda_cache_store(t->cache, t->scratch, &key, cubin, length);
    return m ? m : cuda_load(c, t->ptx, kernel, why);
}
