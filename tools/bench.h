/* One measurement of `bench`, and how it is shown. */
#ifndef TW_BENCH_H
#define TW_BENCH_H

#include "bench_values.h"
#include "json.h"
#include "peers.h"
#include "tool.h"

/* The origin of the tuned values: the kernel's defaults, --tune, or the store, there of these sizes or
 * of the nearest ones. */
enum bench_from { BENCH_DEFAULT, BENCH_GIVEN, BENCH_TUNED, BENCH_TUNED_NEAR };
extern const char *const bench_from_names[]; /* as tables and JSON call it */

enum bench_result { BENCH_PASS, BENCH_FAIL, BENCH_UNCHECKED, BENCH_SKIPPED };

/* A library's part in a row: its own time, of the runs in turn with the kernel. */
struct library_row {
    char name[120], note[400];
    double ms, ratio; /* ms 0: it was not timed, `note` may say why; ratio: its time over ours */
    double least_ms;  /* on the CPU: of the rounds */
    bool tried;       /* on the CPU: it took part, or would have, had its call not failed */
    bool wrong;       /* its values, as `note` says */
};

struct bench_row {
    const char *kernel, *file;
    bool is_product; /* of matrices: 2·m·n·k operations */
    tw_dtype dtype;  /* of what it reads first */
    int64_t m, n, k, batch;
    char sizes[96];                  /* of the others: "rows = 4, cols = 10" */
    char config[200];                /* "BM=128,BN=128" */
    enum bench_from from;            /* of `config` */
    int runs;                        /* measured */
    double ms;                       /* median */
    double least_ms;                 /* on the CPU: of the rounds */
    double gflops, gbytes;           /* per second; 0: does not apply */
    struct library_row peers[PEERS]; /* on the CPU; name "": no more */
    int best;           /* of peers, the fastest whose values are right; -1: there is none */
    bool compared;      /* the next five are known */
    bool all_ensured;   /* `ensures` judged every element */
    char checked[200];  /* what the values were compared with */
    double error;       /* largest */
    double worst_error; /* at the element that uses most of its tolerance, */
    double allowed;     /* which is this */
    enum bench_result result;
    char why[400]; /* BENCH_SKIPPED, BENCH_FAIL */
};

/* On the CPU, beside OpenBLAS, BLIS and oneDNN. */
int bench_on_cpu(const struct command *self, const struct options *given);
/* bench --device cuda: beside cuBLAS on a GPU. */
int bench_on_cuda(const struct command *self, const struct options *given);
/* bench sim [FILE[:KERNEL]]: the speed of the simulator. */
int bench_simulator(const struct command *self, const struct options *given, int word);

/* What the library has to say of a status: "FILE:LINE: text". */
void bench_explain(struct bench_row *row, const tw_context *ctx, tw_status s);
/* What `ensures` says of a run; and a comparison besides, `with` something else. */
void bench_take_verdict(struct bench_row *row, const tw_context *ctx, tw_status s,
                        const tw_verdict *v);
void bench_take_check(struct bench_row *row, const struct value_check *v, const char *with);

/* The table of the CPU. */
struct bench_columns {
    int name_width;
    bool batched; /* some have a batch */
};
void bench_header(bool products, const struct bench_columns *c);
void bench_print(const struct bench_row *row, const struct bench_columns *c);
/* A library's own time, of `like`'s size; below the kernels of that size. */
void bench_print_library(const struct bench_row *like, const struct library_row *l,
                         const struct bench_columns *c);
void bench_json(const struct bench_row *row, struct json *j);
/* Of any device: whether the values are right, and what they were compared with. `result`: in its
 * words. */
void bench_json_values(const struct bench_row *row, const char *result, struct json *j);

#endif
