/* Calls, which are counted, logged and made to fail. Devices and contexts. */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FUNCTIONS = 96, STACK = 16 };

struct call_count {
    const char *name;
    long calls;
};

static struct {
    pthread_mutex_t lock;
    struct call_count counts[FUNCTIONS];
    long calls;
    FILE *log;
    bool read_environment;
    char fail_name[64]; /* "": nothing fails; "*": any */
    const char *failed; /* the function that failed */
    long fail_at, fail_seen;
    int fail_code;
    struct fake_object *objects;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct fake_context {
    int retained, fault;
    char why[512];
    double clock;
};
static struct fake_context contexts[FAKE_DEVICES];

static _Thread_local int current[STACK]; /* devices, counted from 1; 0: none */
static _Thread_local int depth;

int64_t fake_setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoll(text, NULL, 0) : otherwise;
}

int fake_capability(void)
{
    return (int)fake_setting("FAKE_CUDA_SM", 80);
}

/* --- calls by tests to the library itself --- */

API void fake_cuda_fail(const char *name, long at, int code);
API long fake_cuda_calls(const char *name);
API long fake_cuda_live(int kind);
API const char *fake_cuda_failed(void);

/* Makes the at-th call of that function from now on ("*": of any) return code. at 0: none. */
API void fake_cuda_fail(const char *name, long at, int code)
{
    snprintf(fake.fail_name, sizeof fake.fail_name, "%s", at > 0 ? name : "");
    fake.fail_at = at;
    fake.fail_seen = 0;
    fake.fail_code = code;
    fake.failed = NULL;
}

/* Returns the function that has been made to fail since then; NULL: none yet. */
API const char *fake_cuda_failed(void)
{
    return fake.failed;
}

/* Returns the number of calls so far; NULL: of all functions. */
API long fake_cuda_calls(const char *name)
{
    if (!name)
        return fake.calls;
    for (int i = 0; i < FUNCTIONS && fake.counts[i].name; i++)
        if (strcmp(fake.counts[i].name, name) == 0)
            return fake.counts[i].calls;
    return 0;
}

/* Returns the number of live objects of that kind (enum fake_kind); -1: of all kinds, with
 * retained contexts. */
API long fake_cuda_live(int kind)
{
    long count = 0;
    for (const struct fake_object *o = fake.objects; o; o = o->next)
        count += kind < 0 || (int)o->kind == kind;
    for (int i = 0; i < FAKE_DEVICES; i++)
        if (kind < 0 || kind == FAKE_CONTEXT_KIND)
            count += contexts[i].retained;
    return count;
}

/* --- every call --- */

static void read_environment(void)
{
    const char *fail = getenv("FAKE_CUDA_FAIL"), *log = getenv("FAKE_CUDA_LOG");
    char name[64];
    long at;
    int code;
    fake.read_environment = true;
    if (fail && sscanf(fail, "%63[^:]:%ld:%d", name, &at, &code) == 3)
        fake_cuda_fail(name, at, code);
    if (log && *log)
        fake.log = fopen(log, "w");
}

static void count_call(const char *name)
{
    int i = 0;
    while (i < FUNCTIONS - 1 && fake.counts[i].name && strcmp(fake.counts[i].name, name) != 0)
        i++;
    fake.counts[i].name = name;
    fake.counts[i].calls++;
    fake.calls++;
    if (fake.log)
        fprintf(fake.log, "%s\n", name);
}

/* Returns true for errors that a kernel's fault causes: every later call returns them. */
static bool sticks(int code)
{
    static const int all[] = {226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] == code)
            return true;
    return false;
}

static int fail(const char *name)
{
    fake.failed = name;
    if (sticks(fake.fail_code) && fake_state() == GOOD)
        fake_fault(fake.fail_code, "");
    return fake.fail_code;
}

int fake_enter(struct fake_entry *e, const char *name)
{
    pthread_mutex_lock(&fake.lock);
    e->held = 1;
    if (!fake.read_environment)
        read_environment();
    count_call(name);
    bool hit = strcmp(fake.fail_name, "*") == 0 || strcmp(fake.fail_name, name) == 0;
    return hit && ++fake.fail_seen == fake.fail_at ? fail(name) : GOOD;
}

void fake_leave(struct fake_entry *e)
{
    if (e->held)
        pthread_mutex_unlock(&fake.lock);
}

__attribute__((destructor)) static void finish(void)
{
    if (!fake.log)
        return;
    for (int i = 0; i < FUNCTIONS && fake.counts[i].name; i++)
        fprintf(fake.log, "%8ld %s\n", fake.counts[i].calls, fake.counts[i].name);
    fprintf(fake.log, "%8ld objects left\n", fake_cuda_live(-1));
    fclose(fake.log);
}

/* --- objects --- */

void *fake_new(enum fake_kind kind, size_t size)
{
    struct fake_object *o = calloc(1, size);
    if (!o)
        return NULL;
    *o = (struct fake_object){.next = fake.objects, .kind = kind, .device = fake_current_device()};
    fake.objects = o;
    return o;
}

void *fake_object(const void *handle, enum fake_kind kind)
{
    for (struct fake_object *o = fake.objects; o; o = o->next)
        if (o == handle && o->kind == kind)
            return o;
    return NULL;
}

struct fake_object *fake_next(const struct fake_object *after, enum fake_kind kind)
{
    struct fake_object *o = after ? after->next : fake.objects;
    while (o && o->kind != kind)
        o = o->next;
    return o;
}

void fake_remove(void *object)
{
    struct fake_object **at = &fake.objects;
    while (*at != object)
        at = &(*at)->next;
    *at = (*at)->next;
}

void fake_delete(void *object)
{
    fake_remove(object);
    free(object);
}

static void free_object(struct fake_object *o)
{
    switch (o->kind) {
    case FAKE_MODULE: fake_module_free((struct fake_module *)o); break;
    case FAKE_MEMORY: fake_memory_free((struct fake_memory *)o); break;
    case FAKE_STREAM: fake_stream_free(o); break;
    case FAKE_GRAPH:
    case FAKE_GRAPH_EXEC: fake_graph_free(o); break;
    default: fake_delete(o); break;
    }
}

/* --- contexts --- */

int fake_current_device(void)
{
    return current[depth] - 1;
}

static struct fake_context *current_context(void)
{
    return current[depth] ? &contexts[current[depth] - 1] : NULL;
}

int fake_state(void)
{
    const struct fake_context *c = current_context();
    return !c || !c->retained ? INVALID_CONTEXT : c->fault;
}

double fake_clock(void)
{
    return current_context()->clock;
}

void fake_clock_add(double microseconds)
{
    current_context()->clock += microseconds;
}

void fake_fault(int result, const char *why)
{
    struct fake_context *c = current_context();
    c->fault = result;
    snprintf(c->why, sizeof c->why, "%s", why);
}

static int device_of(const void *context)
{
    for (int i = 0; i < FAKE_DEVICES; i++)
        if (context == &contexts[i] && contexts[i].retained)
            return i;
    return -1;
}

static int device_count(void)
{
    int64_t count = fake_setting("FAKE_CUDA_DEVICES", 1);
    return count < 0 ? 0 : count > FAKE_DEVICES ? FAKE_DEVICES : (int)count;
}

/* Destroys a context whose last holder is gone, with everything in it. */
static void destroy_context(int device)
{
    struct fake_object *o = fake.objects;
    int was = current[depth];
    current[depth] = device + 1;
    while (o) {
        struct fake_object *next = o->next;
        if (o->device == device) {
            free_object(o);
            next = fake.objects; /* destroying a stream destroys others too */
        }
        o = next;
    }
    fake_default_clear(device);
    current[depth] = was;
    contexts[device] = (struct fake_context){0};
}

API int cuDevicePrimaryCtxRetain(void **to, int device)
{
    FAKE;
    if (device < 0 || device >= device_count())
        return INVALID_DEVICE;
    contexts[device].retained++;
    *to = &contexts[device];
    return GOOD;
}

API int cuDevicePrimaryCtxRelease_v2(int device)
{
    FAKE_RELEASE;
    if (device < 0 || device >= device_count() || !contexts[device].retained)
        return INVALID_CONTEXT;
    if (--contexts[device].retained == 0)
        destroy_context(device);
    return entered;
}

API int cuCtxGetCurrent(void **to)
{
    FAKE;
    *to = current_context();
    return GOOD;
}

API int cuCtxSetCurrent(void *context)
{
    FAKE;
    if (context && device_of(context) < 0)
        return INVALID_CONTEXT;
    current[depth] = context ? device_of(context) + 1 : 0;
    return GOOD;
}

API int cuCtxPushCurrent_v2(void *context)
{
    FAKE;
    if (device_of(context) < 0 || depth + 1 == STACK)
        return INVALID_CONTEXT;
    current[++depth] = device_of(context) + 1;
    return GOOD;
}

API int cuCtxPopCurrent_v2(void **context)
{
    FAKE_RELEASE;
    if (!current[depth])
        return INVALID_CONTEXT;
    *context = current_context();
    current[depth] = 0;
    if (depth)
        depth--;
    return entered;
}

API int cuCtxSynchronize(void)
{
    FAKE_UNSAFE;
    return fake_drain();
}

/* --- the device --- */

/* As the driver's: what a process has opened does not survive `fork`. */
API int cuInit(unsigned flags)
{
    static pid_t opened_by;
    FAKE;
    (void)flags;
    if (opened_by && opened_by != getpid())
        return NOT_INITIALIZED;
    opened_by = getpid();
    return device_count() ? GOOD : NO_DEVICE;
}

API int cuDriverGetVersion(int *version)
{
    FAKE;
    *version = (int)fake_setting("FAKE_CUDA_VERSION", 13000);
    return GOOD;
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
    {GOOD, "CUDA_SUCCESS", "no error"},
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {NO_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image for the device"},
    {INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {UNSUPPORTED_PTX, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "PTX of an unsupported toolchain"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE", "not possible in the present state"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE",
     "operation not supported on global/shared address space"},
    {718, "CUDA_ERROR_INVALID_PC", "invalid program counter"},
    {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {COOPERATIVE_TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "too many blocks"},
    {NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "an earlier error in a capture"},
    {CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the default stream during a capture"},
    {CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT", "an event of a capture"},
    {INVALID_CLUSTER_SIZE, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "cluster misconfiguration"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

API int cuGetErrorName(int error, const char **text)
{
    FAKE;
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == error)
            *text = errors[i].name;
    return *text ? GOOD : INVALID_VALUE;
}

/* For a fault, the text is the simulator's finding. */
API int cuGetErrorString(int error, const char **text)
{
    FAKE;
    const struct fake_context *c = current_context();
    *text = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == error)
            *text = errors[i].text;
    if (c && error && c->fault == error && c->why[0])
        *text = c->why;
    return *text ? GOOD : INVALID_VALUE;
}

API int cuDeviceGetCount(int *count)
{
    FAKE;
    *count = device_count();
    return GOOD;
}

API int cuDeviceGet(int *device, int ordinal)
{
    FAKE;
    *device = ordinal;
    return ordinal >= 0 && ordinal < device_count() ? GOOD : INVALID_DEVICE;
}

API int cuDeviceGetName(char *name, int length, int device)
{
    FAKE;
    snprintf(name, (size_t)length, device ? "simulator %d" : "simulator", device);
    return GOOD;
}

API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    enum { MULTIPROCESSORS = 16, L2 = 38, MAJOR = 75, MINOR = 76, OPTIN = 97 };
    FAKE;
    (void)device;
    switch (attribute) {
    case MULTIPROCESSORS: *value = FAKE_MULTIPROCESSORS; break;
    case L2: *value = (int)fake_setting("FAKE_CUDA_L2", 1 << 20); break;
    case MAJOR: *value = fake_capability() / 10; break;
    case MINOR: *value = fake_capability() % 10; break;
    case OPTIN: *value = FAKE_SHARED_BYTES; break;
    default: *value = 0; break;
    }
    return GOOD;
}

API int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    FAKE;
    (void)device;
    *bytes = (size_t)fake_setting("FAKE_CUDA_MEMORY", (int64_t)1 << 30);
    return GOOD;
}
