#include "bench/cublas_find.h"
#include "cli/tool.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Known versions of the library's interface, newest first. */
static const char *const versions[] = {".13", ".12", NULL};
/* Folders in site-packages: of CUDA 13's wheel, CUDA 12's wheel, and PyTorch. */
static const char *const pip_folders[] = {"nvidia/cu13/lib", "nvidia/cublas/lib", "torch/lib",
                                          NULL};

/* Opens both libraries. cuBLAS needs cuBLASLt from the same folder and finds it if it was loaded
 * before, by path. */
static bool open_pair(struct cublas_libraries *out, const char *folder, const char *version)
{
    const char *slash = *folder ? "/" : "";
    char *lt = need_text("%s%slibcublasLt.so%s", folder, slash, version);
    char *blas = need_text("%s%slibcublas.so%s", folder, slash, version);
    out->lt = dlopen(lt, RTLD_NOW | RTLD_GLOBAL);
    out->blas = dlopen(blas, RTLD_NOW | RTLD_GLOBAL);
    if (!out->blas && out->lt)
        dlclose(out->lt);
    free(lt);
    free(blas);
    return out->blas != NULL;
}

/* Opens both libraries in the folder; "": in the loader's own paths. */
static bool open_folder(struct cublas_libraries *out, const char *folder)
{
    for (int i = 0; versions[i]; i++)
        if (open_pair(out, folder, versions[i]))
            return true;
    return false;
}

static bool open_pattern(struct cublas_libraries *out, const char *pattern)
{
    glob_t found;
    bool ok = false;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i-- > 0 && !ok;) /* the newest last */
            ok = open_folder(out, found.gl_pathv[i]);
    globfree(&found);
    return ok;
}

/* Opens $TILEWRIGHT_CUBLAS: a folder, or a file of any name. */
static bool open_named(struct cublas_libraries *out, const char *path)
{
    if (open_folder(out, path))
        return true;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    if (slash && strstr(slash + 1, "libcublas.so") && open_folder(out, folder))
        return true;
    out->blas = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    out->lt = out->blas && dlsym(out->blas, "cublasLtMatmul") ? out->blas : NULL;
    return out->blas != NULL;
}

static bool open_site(struct cublas_libraries *out, const char *site)
{
    bool ok = false;
    for (int i = 0; pip_folders[i] && !ok; i++) {
        char *pattern = need_text("%s/%s", site, pip_folders[i]);
        ok = open_pattern(out, pattern);
        free(pattern);
    }
    return ok;
}

/* Searches the folders from which this machine's `python3` imports. */
static bool open_python(struct cublas_libraries *out)
{
    FILE *f = popen("python3 -c 'import sys; print(\"\\n\".join(sys.path))' 2>/dev/null", "r");
    char line[PATH_MAX];
    bool ok = false;
    while (f && !ok && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        ok = line[0] == '/' && open_site(out, line);
    }
    if (f)
        pclose(f);
    return ok;
}

bool cublas_find(struct cublas_libraries *out)
{
    *out = (struct cublas_libraries){0};
    const char *named = getenv("TILEWRIGHT_CUBLAS"), *environment = getenv("VIRTUAL_ENV");
    if (named && *named)
        return open_named(out, named);
    if (open_folder(out, "") || open_pattern(out, "/usr/local/cuda*/lib64"))
        return true;
    bool ok = false;
    if (environment && *environment) {
        char *site = need_text("%s/lib/python3*/site-packages", environment);
        ok = open_site(out, site);
        free(site);
    }
    return ok || open_python(out);
}
