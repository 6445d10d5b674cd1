#include "cli/leftovers.h"

#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };
/* Each slot holds a path or a program, or is free. */
static const char *volatile paths[MOST];
static volatile long children[MOST];
static int held;

/* --- removing --- */

extern char **environ;

/* Runs `rm -rf`, because opendir is not safe in a signal handler, and fork takes malloc's locks.
 * The C libraries of Linux spawn a program without either. */
static void remove_path(const char *path)
{
    char rm[] = "rm", options[] = "-rf", end[] = "--", *name = (char *)(uintptr_t)path;
    char *const arguments[] = {rm, options, end, name, NULL};
    pid_t child;
    if (unlink(path) != 0 && posix_spawn(&child, "/bin/rm", NULL, NULL, arguments, environ) == 0)
        waitpid(child, NULL, 0);
}

void leftovers_remove(void)
{
    for (int i = 0; i < MOST; i++)
        if (children[i]) {
            kill((pid_t)children[i], SIGKILL);
            waitpid((pid_t)children[i], NULL, 0);
            children[i] = 0;
        }
    for (int i = 0; i < MOST; i++)
        if (paths[i]) {
            remove_path(paths[i]);
            paths[i] = NULL;
        }
}

/* --- signals --- */

static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGXFSZ, SIGXCPU};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNALS];

static void end(int number)
{
    leftovers_remove();
    signal(number, SIG_DFL);
    raise(number);
}

static void hold(void)
{
    if (held++)
        return;
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler == SIG_DFL)
            sigaction(signals[i], &(struct sigaction){.sa_handler = end}, NULL);
    }
}

static void release(void)
{
    if (--held)
        return;
    for (int i = 0; i < SIGNALS; i++)
        if (before[i].sa_handler == SIG_DFL)
            sigaction(signals[i], &before[i], NULL);
}

/* --- the list --- */

static bool add(const char *path, long child)
{
    for (int i = 0; i < MOST; i++)
        if (!paths[i] && !children[i]) {
            paths[i] = path;
            children[i] = child;
            hold();
            return true;
        }
    return false;
}

static void forget(const char *path, long child)
{
    for (int i = 0; i < MOST; i++)
        if (paths[i] == path && children[i] == child) {
            paths[i] = NULL;
            children[i] = 0;
            release();
            return;
        }
}

bool leftover_path(const char *path)
{
    return add(path, 0);
}

void leftover_keep(const char *path)
{
    forget(path, 0);
}

bool leftover_program(long child)
{
    return add(NULL, child);
}

void leftover_ended(long child)
{
    forget(NULL, child);
}
