/* The seam to the operating system: processors (platform_cores.c, platform_x86.c), threads (platform_threads.c,
 * platform_pool.c), stacks (platform_stack.c), clock, files and shared libraries (platform.c). Other files in src/ do not call the system for these, so
 * a build without them (for a browser) replaces these files. */
#ifndef TW_PLATFORM_H
#define TW_PLATFORM_H

#include "base/arena.h"

#include <stdatomic.h>

/* Returns the number of cores that this process may use, at least 1: those in its affinity mask, or
 * fewer if its control group grants less processor time than they have. It reads files. */
int platform_cores(void);
int platform_allowed_cores(void); /* those in the affinity mask, at least 1; it reads no file */
/* Returns the cores that control groups grant, rounded up; INT_MAX: any number. groups: the file
 * that lists the groups of the process (/proc/self/cgroup); root: the folder of all groups. */
int platform_group_cores(const char *groups, const char *root);
/* The reasons for which a list of processors is refused. */
enum {
    PROCESSORS_NONE = 0,         /* this system cannot bind threads to processors */
    PROCESSORS_MALFORMED = -1,   /* the text is not a list */
    PROCESSORS_TOO_MANY = -2,    /* the list has more than there is room for */
    PROCESSORS_NOT_ALLOWED = -3, /* the affinity mask lacks one of them */
};
/* Reads a list of processors, "0-3,8", or "all" for all in the affinity mask. Returns their number,
 * or one of the reasons above. */
int platform_processors(const char *list, int *processors, int most);
void platform_bind(int processor); /* binds the thread that calls it */
/* Instructions that an x86-64 has and that the system lets programs use. */
enum {
    X86_ASKED = 1,
    X86_INTEL = 2,
    X86_AMD = 4,
    X86_V3 = 8, /* AVX2, FMA, BMI2 */
    X86_AVX_VNNI = 16,
    X86_V4 = 32,    /* V3, AVX-512 F, BW, CD, DQ, VL */
    X86_VNNI = 64,  /* V4, AVX512-VNNI */
    X86_BF16 = 128, /* VNNI, AVX512-BF16 */
    X86_FP16 = 512, /* VNNI, AVX512-VBMI, AVX512-FP16 */
    X86_AMX = 256   /* VNNI, AMX with products of bf16 and of 8-bit integers */
};
bool platform_x86_has(unsigned features); /* platform_x86.c: all of them */
/* Asks the system to let all threads of this process use Intel AMX's tile registers. */
bool platform_allow_tiles(void);
int platform_cache_ways(void);        /* ways of the first-level data cache; 8 if not known */
bool platform_has_dot_products(void); /* whether an AArch64 processor has SDOT and UDOT */
double platform_seconds(void);        /* monotonic */
void platform_yield(void);
void platform_pause(void);   /* a short pause between two looks at memory that another thread is
                              * about to change */
void *platform_thread(void); /* an address that no other thread has while this one runs */

/* Runs body on a new thread with `stack` bytes of stack, and waits for it. Returns false if the
 * thread cannot be started. */
bool platform_run_thread(size_t stack, void (*body)(void *), void *argument);

/* Makes a stack of `bytes` of address space (platform_stack.c); unused pages take no memory.
 * Returns NULL if there is no memory. One caller at a time uses it. */
struct platform_stack;
struct platform_stack *platform_stack_new(const struct allocator *allocator, size_t bytes);
void platform_stack_free(struct platform_stack *s); /* NULL: fine */
/* Runs body(argument) on the stack, in the caller's thread if the processor allows that. body must
 * return: it must not leave by longjmp. Returns false if there was no memory and body did not run. */
bool platform_stack_call(struct platform_stack *s, void (*body)(void *), void *argument);
/* For tests: returns the bytes of the stack that were ever used, or 0 if that is not known. */
size_t platform_stack_used(const struct platform_stack *s);
/* Within platform_stack_call: runs body(argument) on the caller's stack. */
void platform_stack_leave(struct platform_stack *s, void (*body)(void *), void *argument);

/* A way to run tasks in parallel: `run` calls task(argument, 0 … count-1) once each, in any order
 * and on any threads, and returns when all are done. A task must not wait for another to start. */
struct parallel {
    void (*run)(void *user, int count, void (*task)(void *argument, int index), void *argument);
    void *user;
    int threads; /* tasks that can run at the same time; at least 1 */
    int cores;   /* cores that the process may use */
    /* Returns the seconds for which a caller with little work should try to do it alone before it
     * calls `run`, because `run` would first start threads. `spent`: the seconds for which it just
     * worked alone; 0 asks only. NULL: `run` needs no such start. */
    double (*alone)(void *user, double spent);
};

/* Makes a pool of threads that wait for tasks (platform_pool.c). They start with the first run and
 * end with the pool. One caller at a time has them; a caller that comes meanwhile, a task of the pool too, runs
 * its tasks on its own thread. A forked process starts new threads. `threads` includes the
 * caller's; 0: one per core. Returns NULL if there is no memory. */
struct platform_pool;
struct platform_pool *platform_pool_new(const struct allocator *allocator, int threads);
/* Makes a pool of one thread per core in the affinity mask, of which at most count() start.
 * `count`, for example platform_cores, is called when they start, so the pool is made soon. */
struct platform_pool *platform_pool_new_soon(const struct allocator *allocator, int (*count)(void));
/* Binds the threads to processors: thread i to processors[i % count]. Thread 0 is the caller's and
 * stays as it is. Call it before the first run. */
void platform_pool_bind(struct platform_pool *p, const int *processors, int count);
void platform_pool_free(struct platform_pool *p); /* NULL: fine */
struct parallel platform_pool_parallel(struct platform_pool *p);
void platform_pool_run(void *pool, int count, void (*task)(void *argument, int index),
                       void *argument);

/* A queue of jobs that run one after the other, in the order they were added, on a thread of the
 * queue. platform_queue_new returns NULL if there is no memory or no thread can be started. Freeing
 * the queue waits for all jobs. In a forked process the queue is empty and has a new thread. */
struct platform_job {
    void (*run)(void *user);
    void *user;
    struct platform_job *next;
    atomic_bool waiting; /* written by the queue: true until the job is done */
};
struct platform_queue;
struct platform_queue *platform_queue_new(const struct allocator *allocator);
void platform_queue_free(struct platform_queue *q);                          /* NULL: fine */
void platform_queue_add(struct platform_queue *q, struct platform_job *job); /* stays until done */
bool platform_job_waiting(struct platform_queue *q, const struct platform_job *job);
/* Waits until the job is done, or all jobs if `job` is NULL. */
void platform_queue_wait(struct platform_queue *q, const struct platform_job *job);

/* Reads a whole file into the arena and adds a '\0'. Returns NULL on failure and sets *why to the
 * reason (static or arena text). */
char *platform_read_file(struct arena *a, const char *path, size_t *length, const char **why);
/* Reads the text of a program as platform_read_file does. Refuses a text of more than `most` bytes,
 * and if `regular` is set, devices, pipes and folders, which have no end or are read only once. */
char *platform_read_text(struct arena *a, const char *path, size_t most, bool regular,
                         size_t *length, const char **why);
/* Returns true if the path is a folder, or a link to one. */
bool platform_is_folder(const char *path);
/* Returns the file's path from the root, without links, in the arena; NULL if there is no such
 * file. */
const char *platform_real_path(struct arena *a, const char *path);
/* Writes a new file and renames it to the path, so that the path has the old content or the new
 * one, never a part. */
bool platform_write_file(struct arena *a, const char *path, const void *data, size_t length,
                         const char **why);

/* Does the same without waiting for the disk: a power failure may damage the file. */
bool platform_store_file(struct arena *a, const char *path, const void *data, size_t length,
                         const char **why);
bool platform_file_exists(const char *path);
void platform_remove_file(const char *path); /* no error if there is no such file */
/* Marks the file as the most recently used of its folder (struct platform_file). */
void platform_touch_file(const char *path);
/* Makes the folder and the folders above it, for this user alone. Returns true if it exists
 * already. */
bool platform_make_folder(struct arena *a, const char *path, const char **why);
/* Returns true if files can be made in the folder, which exists. */
bool platform_may_write(struct arena *a, const char *folder, const char **why);

struct platform_file {
    const char *name; /* within its folder */
    int64_t bytes;
    double used; /* time of the last write or touch, in seconds on the clock of platform_date */
};
struct platform_files {
    VEC(struct platform_file) list;
};
/* Returns the regular files of a folder, in no order; none if it cannot be read. */
struct platform_files platform_list_files(struct arena *a, const char *folder);
double platform_date(void); /* now, on the clock of `used` */

/* Makes a path in the folder that the environment variable names, or in `in_home` below $HOME (XDG
 * Base Directory Specification: a relative path in the variable is ignored). Returns false if there
 * is no such folder or `out` is too small. */
bool platform_user_path(const char *variable, const char *in_home, const char *name, char *out,
                        size_t size);
/* Makes the path of a folder for files that programs of this user can make again: in
 * $XDG_CACHE_HOME, or in ~/.cache (XDG Base Directory Specification). Returns false if there is no
 * such folder or `out` is too small. */
bool platform_cache_folder(const char *name, char *out, size_t size);

/* A mutex. platform_lock_new returns NULL if there is no memory. */
struct platform_lock;
struct platform_lock *platform_lock_new(const struct allocator *allocator);
void platform_lock_free(const struct allocator *allocator,
                        struct platform_lock *l); /* NULL: fine */
void platform_lock(struct platform_lock *l);
void platform_unlock(struct platform_lock *l);

/* Writes several files as platform_write_file does: all of them, or none if one fails. *failed is
 * then the index of the file that could not be written. */
struct platform_output {
    const char *path;
    const void *data;
    size_t length;
};
bool platform_write_files(struct arena *a, const struct platform_output *files, int count,
                          int *failed, const char **why);

/* --- other programs --- */

/* Writes the folder of the shared library that has this code, or of the running program, without
 * links. A program that has the library in itself is its own library. Returns false if the folder
 * is not known or `out` is too small. */
bool platform_library_folder(char *out, size_t size);
bool platform_program_folder(char *out, size_t size);
/* Returns the path of a program, found as the shell finds it, or NULL. */
const char *platform_find_program(struct arena *a, const char *name);
/* Runs arguments[0] (the list ends with NULL), discards its output and waits for it. Returns its
 * exit status, or -1 if it could not be started or a signal ended it. */
int platform_run(const char *const *arguments);
/* Makes a new folder for files of this process, in $TMPDIR or /tmp. Returns false on failure. */
bool platform_temporary_folder(char *out, size_t size);
void platform_remove_folder(const char *path); /* an empty one */
/* Reads the size and time of a file, which tell it from an earlier file of that name. Returns false
 * if there is none. */
bool platform_file_stamp(const char *path, int64_t *bytes, int64_t *changed);

/* Reserves zeroed address space, aligned to pages. Only touched pages take memory, so it may exceed
 * the machine's memory. Returns NULL on failure. */
void *platform_reserve(size_t bytes);
void platform_unreserve(void *at, size_t bytes);
/* Asks the system to use large pages for the whole ones within the range. That needs fewer address
 * translations, and the lines of a large page spread over all sets of a cache. */
enum { LARGE_PAGE = 2 << 20 };
void platform_prefer_large_pages(void *at, size_t bytes);

void *platform_library(const char *name); /* dlopen; NULL if absent */
const char *platform_library_error(void); /* the reason of the latest NULL in this thread */
void *platform_symbol(void *library, const char *name);

#endif
