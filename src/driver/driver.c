/* The lock, objects and their handles. */
#include "driver/driver_task.h"

#include <assert.h>
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
void driver_make_lock(void)
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
    pthread_once(&lock_once, driver_make_lock);
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

/* Returns the name of an entry point without its version: "cuMemAlloc". */
static const char *plain_name(const char *symbol)
{
    static const struct {
        const char *asked, *name;
    } names[] = {
#define CALL(asked, symbol, since, parameters) {#asked, #symbol},
#include "driver/driver_calls.def"
#undef CALL
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i].name, symbol) == 0)
            return names[i].asked;
    return symbol;
}

const char *driver_call_name(void)
{
    if (driver.replayed)
        return driver.replayed->call;
    const char *name = call_name ? plain_name(call_name) : "";
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

bool driver_is_ready(void)
{
    return driver.initialised && getpid() == driver.process;
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
    assert(kind && size > 0); /* 0: the handle of an object that was deleted */
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
