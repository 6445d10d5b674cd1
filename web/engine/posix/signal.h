/* Signals: none is ever sent. Functions accept handlers and never call them. */
#ifndef TW_POSIX_SIGNAL_H
#define TW_POSIX_SIGNAL_H

#include <__typedef_sigset_t.h>
#include <sys/types.h>

enum {
    SIGHUP = 1,
    SIGINT = 2,
    SIGQUIT = 3,
    SIGKILL = 9,
    SIGALRM = 14,
    SIGTERM = 15,
    SIGXCPU = 24,
    SIGXFSZ = 25
};
enum { SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK };
enum { SA_RESTART = 0x10000000 };

typedef int sig_atomic_t;
typedef struct {
    pid_t si_pid;
} siginfo_t;

#define SIG_DFL ((void (*)(int))0)
#define SIG_IGN ((void (*)(int))1)

struct sigaction {
    void (*sa_handler)(int);
    sigset_t sa_mask;
    int sa_flags;
};

int sigaction(int number, const struct sigaction *to, struct sigaction *before);
void (*signal(int number, void (*handler)(int)))(int);
int raise(int number); /* ends the program */
int kill(pid_t process, int number);
int sigemptyset(sigset_t *set);
int sigaddset(sigset_t *set, int number);
int sigprocmask(int how, const sigset_t *to, sigset_t *before);

#endif
