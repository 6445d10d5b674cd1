/* Child processes, and their jobs and answers: messages of one size over two pipes.
 *
 * Children are forks of the program, so they have the parent's source, candidates and arrays.
 * The parent process never opens a GPU, because a CUDA context does not survive `fork`. A child
 * ends when its input ends or when its parent does. Each child leads a process group, so that
 * the programs that it started end with it. */
#include "tune/tune.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

static _Noreturn void be_child(const struct process *p, struct tuning *t, int in, int out)
{
    setpgid(0, 0);
    signal(SIGINT, SIG_IGN);  /* the parent's to answer, */
    signal(SIGTERM, SIG_IGN); /* schedulers also send it to all processes of a job */
    signal(SIGPIPE, SIG_DFL);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (!p->measures)
        setpriority(PRIO_PROCESS, 0, 10);        /* measuring processes must not wait for a core */
    for (int i = 0; i < t->process_count; i++) { /* else the others never see end of input */
        const struct process *other = &t->processes[i];
        if (other != p && other->pid > 0) {
            close(other->to);
            close(other->from);
        }
    }
    tune_work(t, in, out, p->measures);
    _exit(0);
}

bool process_start(struct process *p, struct tuning *t)
{
    int down[2], up[2];
    if (pipe(down) != 0)
        return false;
    if (pipe(up) != 0) {
        close(down[0]);
        close(down[1]);
        return false;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(down[1]);
        close(up[0]);
        be_child(p, t, down[0], up[1]);
    }
    if (pid > 0)
        setpgid(pid, pid); /* both processes call it */
    close(down[0]);
    close(up[1]);
    if (pid < 0) {
        close(down[1]);
        close(up[0]);
        return false;
    }
    p->pid = pid;
    p->to = down[1];
    p->from = up[0];
    p->job_count = p->answered = 0;
    return true;
}

bool process_give(struct process *p, const struct job *job)
{
    ssize_t put;
    do
        put = write(p->to, job, sizeof *job);
    while (put < 0 && errno == EINTR);
    if (put != sizeof *job)
        return false;
    if (p->job_count == 0)
        p->since = seconds_now();
    p->jobs[p->job_count++] = *job;
    return true;
}

static void drop_job(struct process *p)
{
    memmove(p->jobs, p->jobs + 1, (size_t)--p->job_count * sizeof *p->jobs);
    p->since = seconds_now();
}

/* Waits for the process and returns how it ended, in words. Programs that it had started, such
 * as an assembler, end too. The caller frees. */
static char *reap(struct process *p)
{
    int status = 0;
    close(p->to);
    close(p->from);
    kill(-p->pid, SIGKILL);
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    p->pid = 0;
    if (WIFSIGNALED(status))
        return need_text("the process ended by signal %d (%s)", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    return need_text("the process ended with status %d", WEXITSTATUS(status));
}

bool process_take(struct process *p, struct answer *out, char **ended)
{
    size_t held = 0;
    while (held < sizeof *out) {
        ssize_t got = read(p->from, (char *)out + held, sizeof *out - held);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            *ended = reap(p);
            return false;
        }
        held += (size_t)got;
    }
    if (!out->more)
        drop_job(p);
    return true;
}

void process_kill(struct process *p)
{
    if (p->pid == 0)
        return;
    free(reap(p));
}
