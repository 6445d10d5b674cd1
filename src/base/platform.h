/* The seam to the operating system: threads (platform_threads.c), stacks (platform_stack.c),
 * clock, files, shared libraries (platform.c). Nothing else in src/ calls the system for these, so a build without them (a
 * browser) replaces these files. */
#ifndef TW_PLATFORM_H
#define TW_PLATFORM_H

#include "base/arena.h"

#include <stdatomic.h>

int platform_cores(void);      /* usable by this process, at least 1 */
int platform_cache_ways(void); /* of the first cache for data; 8 where that is not known */
double platform_seconds(void); /* monotonic */
void platform_yield(void);
void platform_pause(void);   /* between two looks at what another thread is about to change */
void *platform_thread(void); /* an address that no other thread has while this one runs */

/* Runs body on a new thread with `stack` bytes of stack, and waits for it. false: no such
 * thread can be started. */
bool platform_run_thread(size_t stack, void (*body)(void *), void *argument);

/* A stack of `bytes` of address space (platform_stack.c); what is not used takes no memory. NULL: no
 * memory. One caller at a time uses it. */
struct platform_stack;
struct platform_stack *platform_stack_new(const struct allocator *allocator, size_t bytes);
void platform_stack_free(struct platform_stack *s); /* NULL: fine */
/* Runs body(argument) on the stack, in the caller's thread where the processor allows that. body must
 * return: no longjmp leaves it. false: body was not run, because there is no memory. */
bool platform_stack_call(struct platform_stack *s, void (*body)(void *), void *argument);
/* For tests: how many bytes of it were ever used; 0 if that is not known. */
size_t platform_stack_used(const struct platform_stack *s);
/* Within platform_stack_call: runs body(argument) on the caller's stack, likewise. */
void platform_stack_leave(struct platform_stack *s, void (*body)(void *), void *argument);

/* Who runs tasks at the same time: run calls task(argument, 0 … count-1) once each, in any order,
 * on whatever threads, and returns when all are done. A task must not wait for another to start. */
struct parallel {
    void (*run)(void *user, int count, void (*task)(void *argument, int index), void *argument);
    void *user;
    int threads; /* tasks that can run at the same time; at least 1 */
};

/* Threads that wait for tasks. They are started when there are tasks for them, and end with the
 * pool. One caller at a time has them: whoever comes meanwhile, a task of the pool itself too, does
 * its tasks on its own thread. In a forked process it starts threads anew. threads: with the
 * caller's, 0: one a core. NULL: no memory. */
struct platform_pool;
struct platform_pool *platform_pool_new(const struct allocator *allocator, int threads);
void platform_pool_free(struct platform_pool *p); /* NULL: fine */
struct parallel platform_pool_parallel(struct platform_pool *p);
void platform_pool_run(void *pool, int count, void (*task)(void *argument, int index),
                       void *argument);

/* Jobs done one after the other, in the order in which they were added, on a thread of the queue's
 * own. NULL: no memory, or no thread can be started. It is freed once all are done. A forked
 * process has none of the jobs that were waiting: its queue is empty, with a thread of its own. */
struct platform_job {
    void (*run)(void *user);
    void *user;
    struct platform_job *next;
    atomic_bool waiting; /* the queue's: until it is done */
};
struct platform_queue;
struct platform_queue *platform_queue_new(const struct allocator *allocator);
void platform_queue_free(struct platform_queue *q);                          /* NULL: fine */
void platform_queue_add(struct platform_queue *q, struct platform_job *job); /* stays until done */
bool platform_job_waiting(struct platform_queue *q, const struct platform_job *job);
/* Until the job is done; NULL: until all are. */
void platform_queue_wait(struct platform_queue *q, const struct platform_job *job);

/* A whole file into the arena, '\0' behind it. NULL on failure, *why then says why (static or arena
 * text). */
char *platform_read_file(struct arena *a, const char *path, size_t *length, const char **why);
/* Writes beside the file and renames: the old content or the new, never half. */
bool platform_write_file(struct arena *a, const char *path, const void *data, size_t length,
                         const char **why);

/* The same without waiting until the disk has it: after a loss of power the file may be damaged. */
bool platform_store_file(struct arena *a, const char *path, const void *data, size_t length,
                         const char **why);
bool platform_file_exists(const char *path);
void platform_remove_file(const char *path); /* no matter if it is not there */
/* Makes it the most recently used of its folder (struct platform_file). */
void platform_touch_file(const char *path);
/* With the folders above it, for this user alone. True if it is there already. */
bool platform_make_folder(struct arena *a, const char *path, const char **why);
/* Whether files can be made in the folder that is there. */
bool platform_may_write(struct arena *a, const char *folder, const char **why);

struct platform_file {
    const char *name; /* within its folder */
    int64_t bytes;
    double used; /* seconds since some day: when it was last written or touched */
};
struct platform_files {
    VEC(struct platform_file) list;
};
/* The regular files of a folder, in no order; none if it cannot be read. */
struct platform_files platform_list_files(struct arena *a, const char *folder);
double platform_date(void); /* now, on the clock of `used` */

/* A path in the folder that the variable names, or in `in_home` of $HOME (XDG Base Directory
 * Specification: a relative path there counts as none). False: there is no such place, or no room
 * for its name. */
bool platform_user_path(const char *variable, const char *in_home, const char *name, char *out,
                        size_t size);
/* Where programs of this user keep what they can make again: $XDG_CACHE_HOME, or ~/.cache (XDG Base
 * Directory Specification), and a folder there. False: there is no such place, or no room for its
 * name. */
bool platform_cache_folder(const char *name, char *out, size_t size);

/* For threads that must not do something at the same time. NULL: no memory. */
struct platform_lock;
struct platform_lock *platform_lock_new(const struct allocator *allocator);
void platform_lock_free(const struct allocator *allocator,
                        struct platform_lock *l); /* NULL: fine */
void platform_lock(struct platform_lock *l);
void platform_unlock(struct platform_lock *l);

/* Several files, as platform_write_file does it: all, or none where something fails. *failed is
 * then the index of the one that could not be written. */
struct platform_output {
    const char *path;
    const void *data;
    size_t length;
};
bool platform_write_files(struct arena *a, const struct platform_output *files, int count,
                          int *failed, const char **why);

/* --- other programs --- */

/* Where a program is, as the shell finds it; NULL: nowhere. */
const char *platform_find_program(struct arena *a, const char *name);
/* Runs arguments[0] (NULL behind the last) and waits for it; what it says is thrown away. Its exit
 * status; -1: it could not be started, or a signal ended it. */
int platform_run(const char *const *arguments);
/* A new folder for files of this process, in $TMPDIR or /tmp; false: none can be made. */
bool platform_temporary_folder(char *out, size_t size);
void platform_remove_folder(const char *path); /* an empty one */
/* What tells a file from the one that was there before; false: there is none. */
bool platform_file_stamp(const char *path, int64_t *bytes, int64_t *changed);

/* Address space of zeros, aligned to pages: only those that are touched take memory, so it may be
 * more than the machine has. NULL: there is none. */
void *platform_reserve(size_t bytes);
void platform_unreserve(void *at, size_t bytes);
/* The whole large pages within it are given as such, where the system can: fewer of them are looked
 * up, and what lies in one never falls into the same few sets of a cache. */
enum { LARGE_PAGE = 2 << 20 };
void platform_prefer_large_pages(void *at, size_t bytes);

void *platform_library(const char *name); /* dlopen; NULL if absent */
const char *platform_library_error(void); /* of the latest that was NULL, in this thread */
void *platform_symbol(void *library, const char *name);

#endif
