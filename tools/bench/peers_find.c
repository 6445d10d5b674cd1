#include "bench/peer_kinds.h"
#include "cli/tool.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Loads the dependencies of libraries that were unpacked rather than installed, from the same
 * folder. A dependency is found if it was loaded before, by path. The machine's own copy, if
 * any, takes precedence. */
static void load_needed(const char *folder)
{
    static const char *const needed[] = {"libquadmath.so.0", "libgfortran.so.5", "libgomp.so.1",
                                         "libtbb.so.12", "libOpenCL.so.1"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        bool loaded = dlopen(needed[i], RTLD_NOW | RTLD_GLOBAL) != NULL;
        for (int place = 0; place < 2 && !loaded; place++) {
            char path[PATH_MAX];
            snprintf(path, sizeof path, place ? "%s/../%s" : "%s/%s", folder, needed[i]);
            loaded = dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL;
        }
    }
}

/* Loads the library at a path, if it is of this kind. */
static bool try_path(struct peer *p, const char *path, bool unpacked)
{
    if (unpacked) {
        char *folder = need_text("%.*s", (int)(strrchr(path, '/') - path), path);
        load_needed(folder);
        free(folder);
    }
    p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (p->handle && p->kind->open(p))
        return true;
    snprintf(p->why, sizeof p->why, "%s", p->handle ? "no product in it" : dlerror());
    if (p->handle)
        dlclose(p->handle);
    p->handle = NULL;
    return false;
}

static bool try_pattern(struct peer *p, const char *pattern, bool unpacked)
{
    glob_t found;
    bool ok = false;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !ok; i++)
            ok = try_path(p, found.gl_pathv[i], unpacked);
    globfree(&found);
    return ok;
}

/* Searches build/blas, into which ./dev unpacks the library. */
static bool try_unpacked(struct peer *p)
{
    char *folder = source_path("build/blas/usr");
    char *pattern = need_text("%s/lib/%s", folder, p->kind->unpacked);
    bool ok = try_pattern(p, pattern, true);
    free(folder);
    free(pattern);
    return ok;
}

void peer_find(struct peer *p)
{
    const struct peer_kind *kind = p->kind;
    const char *named = getenv(kind->variable);
    p->why[0] = '\0';
    if (named && !*named) {
        snprintf(p->why, sizeof p->why, "$%s is empty", kind->variable);
        return;
    }
    if (named) {
        if (try_path(p, named, strchr(named, '/') != NULL))
            return;
        char *why = need_text("$%s: %s", kind->variable, p->why);
        snprintf(p->why, sizeof p->why, "%s", why);
        free(why);
        return;
    }
    bool ok = false;
    for (int i = 0; kind->places[i] && !ok; i++)
        ok = try_pattern(p, kind->places[i], false);
    if (ok || try_unpacked(p) || *p->why) /* found, but fails to load: see `why` */
        return;
    snprintf(p->why, sizeof p->why, "not found here: %s%s is Debian's package, $%s names a file",
             in_checkout() ? "`./dev bench` fetches it, " : "", kind->package, kind->variable);
}

/* --- the core that it runs as --- */

enum { TRIAL_SIZE = 384, TRIALS = 2, TRIAL_SECONDS = 10 };
static const double trial_lasts = 0.02; /* seconds; at least one run */
static const double worth_it = 0.9;     /* of the default's time: less gain is noise */

/* Returns the least time of a product; negative: failed. */
static double time_product(struct peer *p)
{
    const size_t count = (size_t)TRIAL_SIZE * TRIAL_SIZE;
    const struct gemm g = {.a = TW_F32,
                           .b = TW_F32,
                           .c = TW_F32,
                           .batch = 1,
                           .m = TRIAL_SIZE,
                           .n = TRIAL_SIZE,
                           .k = TRIAL_SIZE};
    float *v = need_memory(3 * count * sizeof *v);
    struct peer_plan plan;
    double best = -1;
    for (size_t i = 0; i < 2 * count; i++)
        v[i] = (float)(i % 17) - 8;
    bool ok = peer_plan_open(&plan, p, &g, v, v + count, v + 2 * count);
    double begin = seconds_now(), now = begin;
    while (ok && now - begin < trial_lasts) {
        double start = now;
        ok = peer_plan_run(&plan);
        now = seconds_now();
        best = best < 0 || now - start < best ? now - start : best;
    }
    peer_plan_close(&plan);
    free(v);
    return ok ? best : -1;
}

/* Times the library in a separate process, on one thread. */
static double time_as_here(const struct peer_kind *kind)
{
    struct peer p = {.kind = kind};
    peer_find(&p);
    if (!p.handle)
        return -1;
    kind->set_threads(&p, 1);
    return time_product(&p);
}

/* Times the library as a core; core NULL: the one that it detects. If the machine lacks the
 * core's instructions, the process dies. */
static double time_as(const struct peer_kind *kind, const char *core)
{
    int ends[2];
    double taken = -1;
    if (pipe(ends) != 0)
        return -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int nowhere = open("/dev/null", O_WRONLY); /* drops messages about unknown cores */
        dup2(nowhere, STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        alarm(TRIAL_SECONDS);
        if (core)
            setenv(kind->core_variable, core, 1);
        taken = time_as_here(kind);
        _exit(write(ends[1], &taken, sizeof taken) == sizeof taken ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &taken, sizeof taken) != sizeof taken)
        taken = -1;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return taken;
}

/* Returns the least time of some trials. The cores take turns, because the machine may be busy
 * for a while. `taken` is the core's least time so far; negative: none yet. */
static double least(double taken, double now)
{
    return now > 0 && (taken < 0 || now < taken) ? now : taken;
}

void peer_choose_core(const struct peer_kind *kind)
{
    if (!kind->core_variable || getenv(kind->core_variable))
        return;
    double own = -1, taken[MOST_CORES];
    for (int i = 0; i < MOST_CORES; i++)
        taken[i] = -1;
    for (int trial = 0; trial < TRIALS; trial++) {
        own = least(own, time_as(kind, NULL));
        for (int i = 0; own > 0 && kind->cores[i]; i++)
            taken[i] = least(taken[i], time_as(kind, kind->cores[i]));
    }
    double best = own * worth_it;
    const char *core = NULL;
    for (int i = 0; own > 0 && kind->cores[i]; i++)
        if (taken[i] > 0 && taken[i] < best) {
            best = taken[i];
            core = kind->cores[i];
        }
    if (core)
        setenv(kind->core_variable, core, 1);
}
