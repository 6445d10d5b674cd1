#include "cli/toolchain.h"
#include "cli/cuda_path.h"
#include "cli/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* --- programs --- */

char *find_program(const char *name)
{
    if (strchr(name, '/'))
        return access(name, X_OK) == 0 ? need_text("%s", name) : NULL;
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t length = strcspn(at, ":");
        char *path = need_text("%.*s/%s", (int)length, at, name);
        if (access(path, X_OK) == 0)
            return path;
        free(path);
        at += length + (at[length] == ':');
    }
    return NULL;
}

char *find_program_of(const char *const *names)
{
    char *found = NULL;
    for (; *names && !found; names++)
        found = find_program(*names);
    return found;
}

char *find_ptxas(void)
{
    static const char *const usual[] = {"ptxas", "/usr/local/cuda/bin/ptxas", NULL};
    const char *named = getenv("TILEWRIGHT_PTXAS");
    if (!named)
        return find_program_of(usual);
    return *named ? find_program(named) : NULL;
}

long program_start(char *const *arguments, const char *folder, const char *said)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    char *path = need_text("%s/%s", folder, said);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, path, O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    int error = posix_spawn(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    free(path);
    if (!error)
        leftover_program((long)child);
    return error ? -1 : (long)child;
}

int program_end(long child)
{
    int status = -1;
    if (child < 0)
        return -1;
    while (waitpid((pid_t)child, &status, 0) < 0)
        if (errno != EINTR) {
            leftover_ended(child);
            return -1;
        }
    leftover_ended(child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int run_program(char *const *arguments, const char *folder, const char *said)
{
    return program_end(program_start(arguments, folder, said));
}

int run_program_within(int seconds, char *const *arguments, const char *folder, const char *said)
{
    enum { MILLISECOND = 1000000, POLLS_A_SECOND = 500 };
    const struct timespec pause = {.tv_nsec = 2 * MILLISECOND};
    long child = program_start(arguments, folder, said);
    for (int64_t polls = (int64_t)seconds * POLLS_A_SECOND; child >= 0; polls--) {
        siginfo_t ended = {0};
        if (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid)
            return program_end(child);
        if (polls <= 0) {
            kill((pid_t)child, SIGKILL);
            program_end(child);
            return PROGRAM_LATE;
        }
        nanosleep(&pause, NULL);
    }
    return -1;
}

/* --- their files --- */

char *folder_make(struct complaints *complaints)
{
    const char *base = getenv("TMPDIR");
    bool usable = base && *base && path_is_plain(base); /* nvcc passes it to a shell */
    char *folder = need_text("%s/tilewright-XXXXXX", usable ? base : "/tmp");
    if (mkdtemp(folder)) {
        leftover_path(folder);
        return folder;
    }
    complain(complaints,
             "no folder for temporary files can be made in %s: %s ($TMPDIR names another)",
             usable ? base : "/tmp", strerror(errno));
    free(folder);
    return NULL;
}

void folder_remove(char *folder)
{
    DIR *all = folder ? opendir(folder) : NULL;
    for (struct dirent *e; all && (e = readdir(all));) {
        char *path = need_text("%s/%s", folder, e->d_name);
        bool own = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
        if (own && unlink(path) != 0)
            folder_remove(need_text("%s", path));
        free(path);
    }
    if (all)
        closedir(all);
    if (folder) {
        rmdir(folder);
        leftover_keep(folder);
    }
    free(folder);
}

bool folder_write(const char *folder, const char *name, const void *data, size_t length)
{
    const char *slash = strchr(name, '/');
    if (slash) {
        char *inner = need_text("%s/%.*s", folder, (int)(slash - name), name);
        mkdir(inner, 0700);
        free(inner);
    }
    char *path = need_text("%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(data, 1, length, f) == length;
    if (f && fclose(f) != 0)
        ok = false;
    free(path);
    return ok;
}

char *folder_read(const char *folder, const char *name, size_t *length)
{
    char *path = need_text("%s/%s", folder, name);
    char *text = read_whole_file(path, length);
    free(path);
    return text;
}
