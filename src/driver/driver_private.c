/* The private table, by which the runtime and cuBLAS of this project call the driver. */
#include "driver/driver_private.h"

#include "driver/driver_task.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct driver_entered held[8];
static _Thread_local int held_count;

static void enter(const char *name)
{
    struct driver_entered entered = driver_enter(name);
    if (held_count < (int)(sizeof held / sizeof held[0]))
        held[held_count] = entered;
    held_count++;
}

static void leave(void)
{
    struct driver_entered none = {.outer = false};
    held_count--;
    driver_leave(held_count < (int)(sizeof held / sizeof held[0]) ? &held[held_count] : &none);
}

static void unseen(const char *what, const char *error, const struct driver_place *site,
                   const char *next)
{
    ENTER;
    if (!driver_is_ready())
        return; /* the parent may still look at the error */
    char message[512], after[96] = "";
    const char *why = site && !next ? driver_why_refused(site) : NULL;
    bool known = why && *why;
    if (next)
        snprintf(after, sizeof after, " went on with %s and", next);
    snprintf(message, sizeof message,
             "%s failed (%s), and the program%s never called cudaGetLastError%s%s", what, error,
             after, known ? ": " : "", known ? why : "");
    const struct driver_fault fault = {.kind = "api-error",
                                       .fails = !next,
                                       .warns = next,
                                       .message = message,
                                       .call = what,
                                       .site = site ? site : &driver_unknown_place};
    driver_report_fault(&fault);
}

static void missing(const char *name)
{
    driver_missing(name);
}

struct launch_place {
    void *kernel;
    const struct driver_place *place;
};

static int find_launch_place(void *user)
{
    struct launch_place *l = user;
    const struct driver_kernel *k = driver_kernel_of(l->kernel);
    struct driver_site here;
    driver_site_here(&here);
    l->place = driver_site_place(&here, k ? k->function->name : NULL);
    return DRIVER_SUCCESS;
}

static const struct driver_place *site(void *kernel)
{
    ENTER;
    struct launch_place l = {kernel, NULL};
    driver_guard(find_launch_place, &l);
    return l.place;
}

static bool has_stubs(void)
{
    return driver.settings.stub;
}

static int stub(void *stream, const struct driver_stub *s)
{
    IN_CONTEXT;
    struct driver_task t = {.kind = TASK_STUB, .stub = *s};
    return driver_enqueue(stream, &t);
}

static const void *bytes_at(uint64_t address, size_t bytes, const char *what)
{
    ENTER;
    return driver_bytes(address, bytes, what);
}

static void fault(const char *kind, const char *message)
{
    ENTER;
    driver_refuse(kind, NULL, "%s", message);
}

static const struct driver_private private_table = {.enter = enter,
                                                    .leave = leave,
                                                    .skip = driver_site_skip,
                                                    .unseen = unseen,
                                                    .findings = driver_findings,
                                                    .missing = missing,
                                                    .site = site,
                                                    .has_stubs = has_stubs,
                                                    .stub = stub,
                                                    .bytes = bytes_at,
                                                    .fault = fault};

/* NVIDIA's compilers that are libraries ask for a table, and do without it. */
static bool is_compiler(const void *address)
{
    static const char *const names[] = {"libnvrtc", "libnvJitLink"};
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/'), *name = slash ? slash + 1 : info.dli_fname;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* A runtime that is linked into the program asks for tables whose layout NVIDIA does not publish. */
int cuGetExportTable(const void **table, const unsigned char *id)
{
    ENTER;
    if (!table || !id)
        return DRIVER_INVALID_VALUE;
    static bool told;
    *table = memcmp(id, driver_private_id, sizeof driver_private_id) == 0 ? &private_table : NULL;
    if (*table)
        return DRIVER_SUCCESS;
    if (is_compiler(__builtin_return_address(0)))
        return DRIVER_NOT_FOUND;
    if (!told && driver_prepare() == DRIVER_SUCCESS)
        driver_refuse("static-runtime", NULL,
                      "the program, or a library that it uses, contains the CUDA runtime itself, "
                      "which asks the driver for interfaces that are not published; build it with "
                      "`nvcc -cudart shared`, or do not strip it of its symbols. The only "
                      "other library of NVIDIA that is supported is cuBLAS");
    told = true;
    return DRIVER_NOT_FOUND;
}
