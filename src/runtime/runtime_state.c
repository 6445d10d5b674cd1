/* The state of a thread, errors. */
#include "runtime/runtime.h"

#include "driver/driver_private.h"
#include "driver/driver_texts.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct driver_private *private_table; /* NULL: another driver is installed */
static pthread_once_t opened = PTHREAD_ONCE_INIT;
static int opening_failed;
static void *primary;
static _Thread_local bool has_context;
static _Thread_local int last_error;

/* The outermost call in progress, and how many findings there were when it began. */
static _Thread_local const char *current;
static _Thread_local int depth, findings_before;

/* The first error that the program has not asked for; of all threads. */
static struct {
    pthread_mutex_t lock;
    int error;
    const struct driver_place *site;
    const char *call; /* NULL: a launch by <<<>>>, which returns no result */
    const char *next; /* the call that the program went on with; NULL: none */
} unseen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void forget_unseen(void)
{
    pthread_mutex_lock(&unseen.lock);
    unseen.error = DRIVER_SUCCESS;
    unseen.site = NULL;
    unseen.call = unseen.next = NULL;
    pthread_mutex_unlock(&unseen.lock);
}

static void at_exit(void)
{
    const char *text = "";
    bool ignored = unseen.error && (!unseen.call || unseen.next);
    if (ignored && private_table && cuGetErrorString(unseen.error, &text) == DRIVER_SUCCESS)
        private_table->unseen(unseen.call ? unseen.call : "a launch", text, unseen.site,
                              unseen.next);
    forget_unseen();
}

void runtime_fault(const char *kind, const char *message)
{
    if (private_table)
        private_table->fault(kind, message);
}

static void open_device(void)
{
    const void *table;
    opening_failed = cuInit(0);
    if (opening_failed == DRIVER_SUCCESS)
        opening_failed = cuDevicePrimaryCtxRetain(&primary, 0);
    if (cuGetExportTable(&table, driver_private_id) == DRIVER_SUCCESS)
        private_table = table;
    if (private_table)
        private_table->skip((const void *)(uintptr_t)open_device);
    atexit(at_exit);
}

/* Returns true for calls that a program also makes when it gives up. */
static bool cleans_up(const char *name)
{
    static const char *const parts[] = {"Free", "Destroy", "Reset", "Unregister", "ErrorString"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}

/* A call after an error: the program went on. */
static void note_next(const char *name)
{
    if (!unseen.error || !unseen.call || unseen.next || cleans_up(name))
        return;
    pthread_mutex_lock(&unseen.lock);
    if (unseen.call)
        unseen.next = name;
    pthread_mutex_unlock(&unseen.lock);
}

struct runtime_entered runtime_enter(const char *name)
{
    void *context = NULL;
    pthread_once(&opened, open_device);
    if (!opening_failed && !has_context) {
        has_context = true;
        cuCtxGetCurrent(&context);
        if (!context)
            cuCtxSetCurrent(primary);
    }
    if (private_table && !depth++) {
        note_next(name);
        current = name;
        findings_before = private_table->findings();
    }
    if (private_table)
        private_table->enter(name);
    return (struct runtime_entered){opening_failed};
}

void runtime_leave(struct runtime_entered *entered)
{
    (void)entered;
    if (!private_table)
        return;
    assert(depth > 0);
    private_table->leave();
    depth--;
}

/* Remembers the first error; call NULL: of a launch by <<<>>>. */
static void note_unseen(int result, const char *call, void *kernel)
{
    assert(private_table);
    pthread_mutex_lock(&unseen.lock);
    if (!unseen.error) {
        unseen.error = result;
        unseen.call = call;
        unseen.site = private_table->site(kernel);
    }
    pthread_mutex_unlock(&unseen.lock);
}

/* Returns true for errors that say how things are, which programs expect, and for those of a fault in a
 * kernel, which is a finding of its own. */
static bool is_expected(int result)
{
    return result == DRIVER_SUCCESS || result == DRIVER_NOT_READY ||
           result == DRIVER_PEER_ENABLED || result == DRIVER_PEER_NOT_ENABLED ||
           result == DRIVER_ALREADY_REGISTERED || result == DRIVER_NOT_REGISTERED ||
           result == DRIVER_ILLEGAL_ADDRESS || result == DRIVER_MISALIGNED_ADDRESS ||
           result == DRIVER_LAUNCH_FAILED || result == DRIVER_LAUNCH_TIMEOUT ||
           result == DRIVER_ASSERT;
}

int runtime_done(int result)
{
    if (result != DRIVER_SUCCESS && result != DRIVER_NOT_READY)
        last_error = result;
    if (!is_expected(result) && private_table && depth == 1 &&
        private_table->findings() == findings_before)
        note_unseen(result, current, NULL);
    return result;
}

int runtime_launched(int result, void *kernel)
{
    if (!is_expected(result) && private_table)
        note_unseen(result, NULL, kernel);
    if (result != DRIVER_SUCCESS)
        last_error = result;
    return result;
}

int cudaGetLastError(void)
{
    int error = last_error;
    last_error = DRIVER_SUCCESS;
    forget_unseen();
    return error;
}

int cudaPeekAtLastError(void)
{
    forget_unseen();
    return last_error;
}

static const char unknown_error[] = "unrecognized error code";

const char *cudaGetErrorName(int error)
{
    const struct driver_texts *t = driver_texts_of(error);
    return t ? t->runtime_name : unknown_error;
}

const char *cudaGetErrorString(int error)
{
    const struct driver_texts *t = driver_texts_of(error);
    return t ? t->text : unknown_error;
}

int cudaDriverGetVersion(int *version)
{
    return runtime_done(cuDriverGetVersion(version));
}

int cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return runtime_done(DRIVER_INVALID_VALUE);
    *version = RUNTIME_VERSION * 1000;
    return DRIVER_SUCCESS;
}

/* Describes the elements of an array. Only the calls of arrays and textures take the description, and those
 * are not supported. */
struct runtime_channels cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
    return (struct runtime_channels){x, y, z, w, kind};
}

ENTRY(cudaProfilerStart, (void), cuProfilerStart())
ENTRY(cudaProfilerStop, (void), cuProfilerStop())

/* --- the driver's entry points --- */

ENTRY(cudaGetDriverEntryPointByVersion,
      (const char *name, void **function, unsigned version, uint64_t flags, int *status),
      cuGetProcAddress_v2(name, function, (int)version, flags, status))

int cudaGetDriverEntryPoint(const char *name, void **function, uint64_t flags, int *status)
{
    return cudaGetDriverEntryPointByVersion(name, function, RUNTIME_VERSION * 1000, flags, status);
}

int cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **function, unsigned version,
                                          uint64_t flags, int *status)
{
    return cudaGetDriverEntryPointByVersion(name, function, version, flags, status);
}

int cudaGetDriverEntryPoint_ptsz(const char *name, void **function, uint64_t flags, int *status)
{
    return cudaGetDriverEntryPoint(name, function, flags, status);
}
