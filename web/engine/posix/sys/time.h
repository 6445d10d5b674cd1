/* Timers: the program itself checks its time limits. */
#ifndef TW_POSIX_SYS_TIME_H
#define TW_POSIX_SYS_TIME_H

#include_next <sys/time.h>

enum { ITIMER_REAL };

struct itimerval {
    struct timeval it_interval, it_value;
};

int setitimer(int which, const struct itimerval *to, struct itimerval *before);

#endif
