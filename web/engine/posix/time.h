/* Adds the processor's time, which here is the time that has passed. */
#ifndef TW_POSIX_TIME_H
#define TW_POSIX_TIME_H

#include_next <time.h>

#ifndef CLOCK_PROCESS_CPUTIME_ID
#define CLOCK_PROCESS_CPUTIME_ID CLOCK_MONOTONIC
#endif

#endif
