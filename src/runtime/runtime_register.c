/* Fat binaries, with their kernels and variables, that compiled programs register before main. A
 * binary is loaded when the program first needs something of it, as by the real runtime. */
#include "runtime/runtime.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct binary {
    void *image, *module;
    bool loaded;
    int result; /* of the load */
    struct binary *next;
};

struct symbol {
    const void *host;
    const char *name;
    struct binary *from;
    void **managed; /* a managed variable: the host's pointer to it, or NULL */
    void *function; /* a kernel: NULL until it is first needed */
    struct symbol *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct symbol *kernels, *variables;

void **__cudaRegisterFatBinary(void *image)
{
    struct binary *b = calloc(1, sizeof *b);
    if (b)
        b->image = image;
    return (void **)b;
}

void __cudaRegisterFatBinaryEnd(void **binary)
{
    (void)binary;
}

static void drop(struct symbol **list, const struct binary *from)
{
    while (*list) {
        struct symbol *s = *list;
        if (s->from == from) {
            *list = s->next;
            free(s);
        } else {
            list = &s->next;
        }
    }
}

void __cudaUnregisterFatBinary(void **binary)
{
    pthread_mutex_lock(&lock);
    drop(&kernels, (struct binary *)binary);
    drop(&variables, (struct binary *)binary);
    pthread_mutex_unlock(&lock);
    free(binary);
}

static struct symbol *add(struct symbol **list, void **binary, const void *host, const char *name)
{
    struct symbol *s = calloc(1, sizeof *s);
    if (!s || !binary) {
        free(s);
        return NULL;
    }
    *s = (struct symbol){.host = host, .name = name, .from = (struct binary *)binary};
    pthread_mutex_lock(&lock);
    s->next = *list;
    *list = s;
    pthread_mutex_unlock(&lock);
    return s;
}

void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name,
                            int threads, void *tid, void *bid, void *block, void *grid, int *warp)
{
    (void)device, (void)threads, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    add(&kernels, binary, host, name);
}

void __cudaRegisterVar(void **binary, char *host, char *device, const char *name, int is_extern,
                       size_t bytes, int is_constant, int is_global)
{
    (void)device, (void)is_extern, (void)bytes, (void)is_constant, (void)is_global;
    add(&variables, binary, host, name);
}

void __cudaRegisterManagedVar(void **binary, void **host, char *device, const char *name,
                              int is_extern, size_t bytes, int is_constant, int is_global)
{
    (void)device, (void)is_extern, (void)bytes, (void)is_constant, (void)is_global;
    struct symbol *s = add(&variables, binary, host, name);
    if (s)
        s->managed = host;
}

/* --- loading --- */

/* Gives the program the addresses of the binary's managed variables. */
static void place_managed(const struct binary *b)
{
    uint64_t address;
    for (const struct symbol *s = variables; s; s = s->next)
        if (s->managed && s->from == b &&
            cuModuleGetGlobal_v2(&address, NULL, b->module, s->name) == DRIVER_SUCCESS)
            *s->managed = (void *)(uintptr_t)address;
}

static int load(struct binary *b)
{
    if (b->loaded)
        return b->result;
    assert(!b->module);
    b->loaded = true;
    b->result = cuModuleLoadFatBinary(&b->module, b->image);
    if (b->result == DRIVER_SUCCESS)
        place_managed(b);
    return b->result;
}

char __cudaInitModule(void **binary)
{
    struct runtime_entered entered = runtime_enter("__cudaInitModule");
    if (!entered.failed)
        load((struct binary *)binary);
    runtime_leave(&entered);
    return 1;
}

static struct symbol *find(struct symbol *list, const void *host)
{
    pthread_mutex_lock(&lock);
    while (list && list->host != host)
        list = list->next;
    pthread_mutex_unlock(&lock);
    return list;
}

void *runtime_function_of(const void *host, int *result)
{
    struct symbol *s = find(kernels, host);
    void *function;
    /* A program may give the handle of a library's kernel in place of a host function. */
    if (!s && cuKernelGetFunction(&function, (void *)(uintptr_t)host) == DRIVER_SUCCESS) {
        *result = DRIVER_SUCCESS;
        return function;
    }
    *result = s ? load(s->from) : DRIVER_INVALID_FUNCTION;
    if (*result == DRIVER_SUCCESS && !s->function)
        *result = cuModuleGetFunction(&s->function, s->from->module, s->name);
    return *result == DRIVER_SUCCESS ? s->function : NULL;
}

const void *runtime_host_of(const void *function)
{
    pthread_mutex_lock(&lock);
    const struct symbol *s = kernels;
    while (s && s->function != function)
        s = s->next;
    pthread_mutex_unlock(&lock);
    return s ? s->host : NULL;
}

static const struct symbol *find_variable(const void *host)
{
    const struct symbol *s = find(variables, host);
    if (!s) { /* a managed variable is known by its address, too */
        for (s = variables; s && !(s->managed && *s->managed == host); s = s->next)
            ;
    }
    return s;
}

const char *runtime_variable_name(const void *host)
{
    const struct symbol *s = find_variable(host);
    return s ? s->name : "?";
}

int runtime_variable_of(const void *host, uint64_t *address, size_t *bytes)
{
    const struct symbol *s = find_variable(host);
    int result = s ? load(s->from) : DRIVER_INVALID_SYMBOL;
    if (result == DRIVER_SUCCESS)
        result = cuModuleGetGlobal_v2(address, bytes, s->from->module, s->name);
    return result == DRIVER_NOT_FOUND ? DRIVER_INVALID_SYMBOL : result;
}
