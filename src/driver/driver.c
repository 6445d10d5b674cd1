/* The lock, the settings, objects and their handles. */
#include "driver/driver_task.h"

#include "base/platform.h"
#include "target/gpus.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct driver driver;

static pthread_mutex_t lock;
static pthread_once_t lock_once = PTHREAD_ONCE_INIT;
static _Thread_local const char *call_name;
static _Thread_local jmp_buf *guard;

/* Calls of the runtime library and callbacks come from within other calls. */
static void make_lock(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

struct driver_entered driver_enter(const char *name)
{
    struct driver_entered entered = {.outer = !call_name};
    pthread_once(&lock_once, make_lock);
    pthread_mutex_lock(&lock);
    if (entered.outer)
        call_name = name;
    return entered;
}

void driver_leave(struct driver_entered *entered)
{
    if (entered->outer)
        call_name = NULL;
    pthread_mutex_unlock(&lock);
}

void driver_pause(void)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    pthread_mutex_unlock(&lock);
    nanosleep(&millisecond, NULL);
    pthread_mutex_lock(&lock);
}

const char *driver_call_name(void)
{
    if (driver.replayed)
        return driver.replayed->call;
    const char *name = call_name ? driver_plain_name(call_name) : "";
    /* nvcc writes __cudaLaunchKernel for <<<>>>. */
    return strncmp(name, "__cuda", strlen("__cuda")) == 0 ? name + 2 : name;
}

/* An arena jumps to driver.out_of_memory, which is the guard of the call that holds the lock. */
int driver_guard(int (*function)(void *user), void *user)
{
    if (guard)
        return function(user);
    const struct driver_task *replayed = driver.replayed;
    guard = &driver.out_of_memory;
    if (setjmp(driver.out_of_memory)) {
        guard = NULL;
        driver.replayed = replayed; /* the task of a graph may have run out of memory */
        return DRIVER_OUT_OF_MEMORY;
    }
    int result = function(user);
    guard = NULL;
    return result;
}

/* --- settings: the lines NAME=VALUE of the file that TILEWRIGHT_APP names --- */

static char *settings_text; /* NULL: there is no such file */

/* Returns the value of a setting; NULL: it is not set. */
static const char *setting(const char *name)
{
    size_t length = strlen(name);
    for (const char *at = settings_text; at && *at;) {
        const char *end = at + strcspn(at, "\n");
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return arena_string(&driver.arena, at + length + 1, (size_t)(end - at) - length - 1);
        at = *end ? end + 1 : end;
    }
    return NULL;
}

static int64_t number_setting(const char *name)
{
    const char *text = setting(name);
    return text ? strtoll(text, NULL, 10) : 0;
}

/* Returns the first GPU of that capability: "sm_90". */
static const struct gpu *gpu_of_target(const char *name)
{
    int number = strncmp(name, "sm_", 3) == 0 ? atoi(name + 3) : 0;
    for (int i = 0; number && target_gpu_at(i); i++)
        if (target_gpu_at(i)->capability == number)
            return target_gpu_at(i);
    return target_gpu_find(name);
}

static int read_settings(void *user)
{
    struct driver_settings *s = user;
    size_t length;
    const char *why, *path = getenv("TILEWRIGHT_APP");
    settings_text = path ? platform_read_file(&driver.arena, path, &length, &why) : NULL;
    const char *device = setting("device"), *checks = setting("checks");
    const char *findings = setting("findings");
    s->gpu = device ? gpu_of_target(device) : NULL;
    if (!s->gpu)
        s->gpu = gpu_of_target("sm_90");
    s->checks = !checks || strcmp(checks, "0") != 0;
    s->kernel = setting("kernel");
    s->launch = number_setting("launch");
    s->skipped = number_setting("skip");
    s->seed = (uint64_t)number_setting("seed");
    s->threads = (int)number_setting("threads");
    s->step_limit = number_setting("step-limit");
    s->suppress = setting("suppress");
    const char *limit = setting("limit");
    s->limit = limit && strcmp(limit, "0") == 0 ? -1 : number_setting("limit");
    s->keep_going = setting("keep-going");
    s->trace = setting("trace");
    s->stub = setting("stub");
    s->findings = findings ? fopen(findings, "a") : NULL;
    return DRIVER_SUCCESS;
}

static pid_t process; /* that opened the driver */

bool driver_is_ready(void)
{
    return driver.initialised && getpid() == process;
}

static void at_exit(void)
{
    if (!driver_is_ready())
        return;
    struct driver_entered entered = driver_enter("exit");
    driver_report_exit();
    driver_leave(&entered);
}

static int prepare(void *user)
{
    (void)user;
    driver_machine();
    driver_report_begin();
    driver_trace_open();
    return DRIVER_SUCCESS;
}

int driver_prepare(void)
{
    if (driver.initialised)
        return driver_is_ready() ? DRIVER_SUCCESS : DRIVER_NOT_INITIALIZED;
    arena_init(&driver.arena, &allocator_libc, &driver.out_of_memory);
    int result = driver_guard(read_settings, &driver.settings);
    if (result == DRIVER_SUCCESS)
        result = driver_guard(prepare, NULL);
    driver.initialised = result == DRIVER_SUCCESS;
    process = getpid();
    if (!driver.initialised)
        return result;
    atexit(at_exit);
    pthread_atfork(NULL, NULL, make_lock); /* a thread that the child lacks may hold the lock */
    return result;
}

/* --- objects --- */

struct new_object {
    enum driver_kind kind;
    size_t size;
    void *made;
};

static int make_object(void *user)
{
    struct new_object *o = user;
    bool added;
    o->made = calloc(1, o->size);
    if (!o->made)
        return DRIVER_OUT_OF_MEMORY;
    number_map_entry(&driver.arena, &driver.objects, (uintptr_t)o->made, &added)->value =
        (uint64_t)o->kind;
    return DRIVER_SUCCESS;
}

void *driver_new(enum driver_kind kind, size_t size)
{
    struct new_object o = {kind, size, NULL};
    return driver_guard(make_object, &o) == DRIVER_SUCCESS ? o.made : NULL;
}

void *driver_object(const void *handle, enum driver_kind kind)
{
    const struct number_entry *found = number_map_find(&driver.objects, (uintptr_t)handle);
    return found && found->value == (uint64_t)kind ? (void *)(uintptr_t)handle : NULL;
}

void driver_retire(const void *object)
{
    struct number_entry *found = number_map_find(&driver.objects, (uintptr_t)object);
    if (found)
        found->value = 0;
}

void driver_delete(void *object)
{
    driver_retire(object);
    free(object);
}
