#include "blas.h"
#include "tool.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* What it needs lies beside it when it was unpacked rather than installed; loaded first, by path,
 * it is found. */
static void load_needed(const char *folder)
{
    static const char *const needed[] = {"libquadmath.so.0", "libgfortran.so.5"};
    for (int i = 0; i < 2; i++) {
        char *path = need_text("%s/../%s", folder, needed[i]);
        dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        free(path);
    }
}

static bool try_path(struct blas *b, const char *path)
{
    char *folder = need_text("%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) {
        *slash = '\0';
        load_needed(folder);
    }
    free(folder);
    b->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!b->library)
        return false;
    *(void **)&b->sgemm = dlsym(b->library, "cblas_sgemm");
    if (b->sgemm)
        return true;
    dlclose(b->library);
    b->library = NULL;
    return false;
}

static bool try_pattern(struct blas *b, const char *pattern)
{
    glob_t found;
    bool ok = false;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !ok; i++)
            ok = try_path(b, found.gl_pathv[i]);
    globfree(&found);
    return ok;
}

/* build/blas, where ./dev unpacks it, seen from build/tilewright or build-debug/tilewright. */
static bool try_unpacked(struct blas *b)
{
    char *pattern = source_path("build/blas/usr/lib/*/openblas-pthread/libopenblas*.so*");
    bool ok = try_pattern(b, pattern);
    free(pattern);
    return ok;
}

/* "OpenBLAS 0.3.21 NO_LAPACK … Haswell MAX_THREADS=64" -> the first two words */
static void take_name(struct blas *b)
{
    char *(*config)(void);
    *(void **)&config = dlsym(b->library, "openblas_get_config");
    const char *text = config ? config() : "BLAS";
    size_t first = strcspn(text, " ");
    size_t second = text[first] ? first + 1 + strcspn(text + first + 1, " ") : first;
    snprintf(b->name, sizeof b->name, "%.*s", (int)second, text);
}

bool blas_open(struct blas *b, int threads)
{
    static const char *const patterns[] = {
        "/usr/lib/*/openblas-*/libopenblas*.so*",
        "/usr/lib/*/libopenblas*.so*",
        "/usr/lib64/libopenblasp*.so*",
        "/usr/lib64/libopenblas*.so*",
        "/usr/lib/libopenblas*.so*",
        "/opt/homebrew/opt/openblas/lib/libopenblas*",
    };
    *b = (struct blas){0};
    /* Its idle workers spin, by default for longer than a kernel of ours takes, on cores that the
     * kernel needs: less. */
    setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0); /* 2^20 cycles */
    setenv("OMP_WAIT_POLICY", "passive", 0);
    const char *named = getenv("TILEWRIGHT_BLAS");
    bool ok = named && *named && try_path(b, named);
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns && !ok && !named; i++)
        ok = try_pattern(b, patterns[i]);
    if (!ok && !named)
        ok = try_unpacked(b);
    if (!ok)
        return false;
    take_name(b);
    void (*set_threads)(int);
    *(void **)&set_threads = dlsym(b->library, "openblas_set_num_threads");
    if (set_threads)
        set_threads(threads);
    return true;
}

void blas_multiply(const struct blas *b, int64_t m, int64_t n, int64_t k, const float *a,
                   const float *b_matrix, float *c)
{
    enum { ROW_MAJOR = 101, NO_TRANS = 111 };
    b->sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, (int)m, (int)n, (int)k, 1.0f, a, (int)k, b_matrix,
             (int)n, 0.0f, c, (int)n);
}
