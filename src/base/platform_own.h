/* Starting threads (platform_threads.c), for the files that are the seam to POSIX threads. */
#ifndef TW_PLATFORM_OWN_H
#define TW_PLATFORM_OWN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* The least stack of a thread of the library: enough for the library and for most callbacks. A
 * larger system default is kept. */
enum { LEAST_STACK = 1 << 20 };

/* Starts a thread that blocks signals. Returns false if it cannot be started. */
bool platform_start_thread(pthread_t *thread, size_t stack, void *(*body)(void *), void *argument);

#endif
