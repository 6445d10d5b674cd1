#include "bench/peers.h"
#include "bench/peer_kinds.h"
#include "cli/tool.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* --- CBLAS --- */

/* Values of the standard (BLAS Technical Forum, C interface to the legacy BLAS). */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

typedef void sgemm_call(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                        const float *a, int lda, const float *b, int ldb, float beta, float *c,
                        int ldc);
typedef void sbgemm_call(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                         const uint16_t *a, int lda, const uint16_t *b, int ldb, float beta,
                         float *c, int ldc);

static int run_sgemm(struct peer_plan *p)
{
    const struct gemm *g = &p->gemm;
    sgemm_call *call;
    *(void **)&call = peer_symbol(p->peer, "cblas_sgemm");
    for (int64_t z = 0; z < g->batch; z++)
        call(ROW_MAJOR, g->a_turned ? TRANS : NO_TRANS, g->b_turned ? TRANS : NO_TRANS, (int)g->m,
             (int)g->n, (int)g->k, 1, (const float *)p->a + z * g->m * g->k,
             (int)(g->a_turned ? g->m : g->k), (const float *)p->b + z * g->k * g->n,
             (int)(g->b_turned ? g->k : g->n), 0, (float *)p->c + z * g->m * g->n, (int)g->n);
    return 0;
}

/* Calls OpenBLAS's function, which exists if built with BUILD_BFLOAT16 (README of OpenBLAS). */
static int run_sbgemm(struct peer_plan *p)
{
    const struct gemm *g = &p->gemm;
    sbgemm_call *call;
    *(void **)&call = peer_symbol(p->peer, "cblas_sbgemm");
    for (int64_t z = 0; z < g->batch; z++)
        call(ROW_MAJOR, g->a_turned ? TRANS : NO_TRANS, g->b_turned ? TRANS : NO_TRANS, (int)g->m,
             (int)g->n, (int)g->k, 1, (const uint16_t *)p->a + z * g->m * g->k,
             (int)(g->a_turned ? g->m : g->k), (const uint16_t *)p->b + z * g->k * g->n,
             (int)(g->b_turned ? g->k : g->n), 0, (float *)p->c + z * g->m * g->n, (int)g->n);
    return 0;
}

static bool cblas_plan(struct peer_plan *p)
{
    const struct gemm *g = &p->gemm;
    bool sums = g->c == TW_F32 && g->a == g->b;
    if (sums && g->a == TW_F32)
        p->run = run_sgemm;
    else if (sums && g->a == TW_BF16 && peer_symbol(p->peer, "cblas_sbgemm"))
        p->run = run_sbgemm;
    return p->run != NULL;
}

/* Sets the name: the first two words of "OpenBLAS 0.3.21 NO_LAPACK … Haswell MAX_THREADS=64". */
static bool openblas_open(struct peer *p)
{
    char *(*config)(void), *(*core)(void);
    *(void **)&config = peer_symbol(p, "openblas_get_config");
    *(void **)&core = peer_symbol(p, "openblas_get_corename");
    const char *text = config ? config() : "BLAS";
    size_t first = strcspn(text, " ");
    size_t second = text[first] ? first + 1 + strcspn(text + first + 1, " ") : first;
    snprintf(p->name, sizeof p->name, "%.*s%s%.20s%s", (int)second, text, core ? " (" : "",
             core ? core() : "", core ? ")" : "");
    return peer_symbol(p, "cblas_sgemm") != NULL;
}

/* Calls a function of one int. false: the library has none of that name. */
static bool call_with(struct peer *p, const char *name, int value)
{
    void (*call)(int);
    *(void **)&call = peer_symbol(p, name);
    if (call)
        call(value);
    return call != NULL;
}

static bool openblas_set_threads(struct peer *p, int threads)
{
    return call_with(p, "openblas_set_num_threads", threads);
}

/* --- BLIS --- */

static bool blis_open(struct peer *p)
{
    const char *(*version)(void), *(*core_name)(int);
    int (*core)(void), (*start)(void);
    *(void **)&start = peer_symbol(p, "bli_init"); /* until then, $BLIS_ARCH_TYPE has no effect */
    *(void **)&version = peer_symbol(p, "bli_info_get_version_str");
    *(void **)&core = peer_symbol(p, "bli_arch_query_id");
    *(void **)&core_name = peer_symbol(p, "bli_arch_string");
    if (!version || !peer_symbol(p, "cblas_sgemm"))
        return false;
    bool known = start && core && core_name;
    if (known)
        start();
    snprintf(p->name, sizeof p->name, "BLIS %.40s%s%.20s%s", version(), known ? " (" : "",
             known ? core_name(core()) : "", known ? ")" : "");
    return true;
}

static bool blis_set_threads(struct peer *p, int threads)
{
    void (*set)(int64_t); /* dim_t */
    *(void **)&set = peer_symbol(p, "bli_thread_set_num_threads");
    if (set)
        set(threads);
    return set != NULL;
}

/* --- oneDNN --- */

/* Sets the threads of the OpenMP library that it was linked with; dlsym finds it among the
 * dependencies. */
static bool onednn_set_threads(struct peer *p, int threads)
{
    return call_with(p, "omp_set_num_threads", threads);
}

/* --- the list --- */

static const char *const openblas_places[] = {"/usr/lib/*/openblas-*/libopenblas*.so*",
                                              "/usr/lib/*/libopenblas*.so*",
                                              "/usr/lib64/libopenblasp*.so*",
                                              "/usr/lib64/libopenblas*.so*",
                                              "/usr/lib/libopenblas*.so*",
                                              "/opt/homebrew/opt/openblas/lib/libopenblas*",
                                              NULL};
static const char *const blis_places[] = {"/usr/lib/*/blis-pthread/libblis.so*",
                                          "/usr/lib/*/blis-openmp/libblis.so*",
                                          "/usr/lib/*/libblis*.so*",
                                          "/usr/lib64/libblis*.so*",
                                          "/usr/lib/libblis*.so*",
                                          NULL};
static const char *const onednn_places[] = {"/usr/lib/*/libdnnl.so*", "/usr/lib64/libdnnl.so*",
                                            "/usr/lib/libdnnl.so*", "/usr/local/lib/libdnnl.so*",
                                            NULL};
/* Source for OpenBLAS: driver/others/dynamic.c. BLIS takes an index into its enum arch_t, which
 * begins with skx, knl, knc, haswell up to version 0.9 and differs in later versions. */
static const char *const openblas_cores[] = {"SapphireRapids", "Cooperlake", "SkylakeX", "Zen",
                                             "Haswell",        NULL};
static const char *const blis_cores[] = {"0", "3", NULL};

static const struct peer_kind kinds[PEERS] = {
    {"openblas", "OpenBLAS", "TILEWRIGHT_BLAS", "libopenblas0-pthread", openblas_places,
     "*/openblas-pthread/libopenblas*.so*", "OPENBLAS_CORETYPE", openblas_cores, openblas_open,
     openblas_set_threads, cblas_plan},
    {"blis", "BLIS", "TILEWRIGHT_BLIS", "libblis4-pthread", blis_places,
     "*/blis-pthread/libblis.so*", "BLIS_ARCH_TYPE", blis_cores, blis_open, blis_set_threads,
     cblas_plan},
    {"onednn", "oneDNN", "TILEWRIGHT_ONEDNN", "libdnnl2 (libdnnl3)", onednn_places, "*/libdnnl.so*",
     NULL, NULL, onednn_open, onednn_set_threads, onednn_plan},
};

/* Shortens the spinning of idle workers. By default, they spin for longer than a kernel of ours
 * takes, on cores that the kernel needs. The new limit still exceeds the time between two runs:
 * 2^20 cycles, and about the same time in libgomp's count of pauses. */
static void limit_spinning(void)
{
    setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0);
    setenv("GOMP_SPINCOUNT", "10000", 0);
}

static void open_one(struct peer *p, int threads)
{
    peer_choose_core(p->kind);
    peer_find(p);
    if (!p->handle || p->kind->set_threads(p, threads))
        return;
    snprintf(p->why, sizeof p->why, "cannot be told to run %d thread%s", threads,
             threads == 1 ? "" : "s");
    p->handle = NULL; /* stays loaded: its threads may run */
}

static const struct peer_kind *find_kind(const char *name, size_t length)
{
    for (int i = 0; i < PEERS; i++)
        if (strlen(kinds[i].key) == length && strncmp(kinds[i].key, name, length) == 0)
            return &kinds[i];
    return NULL;
}

bool peers_open(struct peers *x, const char *which, int threads, const char **bad)
{
    *x = (struct peers){0};
    if (!which)
        which = "openblas,blis,onednn";
    if (strcmp(which, "none") == 0)
        return true;
    limit_spinning();
    for (; *which; which += *which == ',') {
        size_t length = strcspn(which, ",");
        const struct peer_kind *kind = find_kind(which, length);
        if (!kind || x->count == PEERS) {
            *bad = which;
            return false;
        }
        struct peer *p = &x->list[x->count++];
        p->kind = kind;
        snprintf(p->name, sizeof p->name, "%s", kind->title);
        open_one(p, threads);
        which += length;
    }
    return true;
}

bool peers_any(const struct peers *x)
{
    for (int i = 0; i < x->count; i++)
        if (x->list[i].handle)
            return true;
    return false;
}

void peers_close(struct peers *x)
{
    for (int i = 0; i < x->count; i++)
        onednn_close(&x->list[i]);
}
