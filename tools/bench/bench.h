/* One measurement of `bench`, and the functions that print it. */
#ifndef TW_BENCH_H
#define TW_BENCH_H

#include "bench/bench_values.h"
#include "cli/json.h"
#include "bench/peers.h"
#include "tilewright_family.h"
#include "cli/tool.h"

/* Origin of the tuned values: the kernel's defaults, --tune, the store's entry for these sizes or
 * for the nearest sizes, or the choice of a family (--best), by tw_choice.by. */
enum bench_from {
    BENCH_DEFAULT,
    BENCH_GIVEN,
    BENCH_TUNED,
    BENCH_TUNED_NEAR,
    BENCH_BEST_RESULT,
    BENCH_BEST_NEAREST,
    BENCH_BEST_MODEL
};
extern const char *const bench_from_names[]; /* their names in tables and JSON */

enum bench_result { BENCH_PASS, BENCH_FAIL, BENCH_UNCHECKED, BENCH_SKIPPED };

/* Library's part of a row: its own time, from runs that alternate with the kernel's. */
struct library_row {
    char name[120], note[400];
    double ms, ratio; /* ms 0: not timed, `note` may say why; ratio: its time over the kernel's */
    double least_ms;  /* on the CPU: least of the rounds */
    bool tried;       /* on the CPU: it took part, or its call failed */
    bool wrong;       /* wrong values; see `note` */
};

/* Choice of a family, as tw_choice has it. */
struct bench_choice {
    const char *family; /* NULL: none has chosen */
    tw_chosen_by by;
    char device[120], nearest[120]; /* "": none */
    double distance, ms;
    int compared;
};

struct bench_row {
    const char *kernel, *file;
    bool is_product; /* of matrices: 2·m·n·k operations */
    tw_dtype dtype;  /* of the first input array */
    int64_t m, n, k, batch;
    char sizes[96];                  /* not a product: "rows = 4, cols = 10" */
    char config[200];                /* "BM=128,BN=128" */
    enum bench_from from;            /* of `config` */
    struct bench_choice choice;      /* BENCH_BEST_…: of the kernel and `config` */
    int runs;                        /* measured */
    double ms;                       /* median */
    double least_ms;                 /* on the CPU: least of the rounds */
    double gflops, gbytes;           /* per second; 0: not applicable */
    struct library_row peers[PEERS]; /* on the CPU; ends with the name "" */
    int best;                        /* fastest peer with right values; -1: none */
    bool compared;                   /* the next five are known */
    bool all_ensured;                /* `ensures` judged every element */
    char checked[200];               /* reference that the values were compared with */
    double error;                    /* largest */
    double worst_error;              /* at the element that uses most of its tolerance, */
    double allowed;                  /* which is this */
    enum bench_result result;
    char why[400]; /* BENCH_SKIPPED, BENCH_FAIL */
};

/* Implements bench on the CPU, in comparison with OpenBLAS, BLIS and oneDNN. */
int bench_on_cpu(const struct command *self, const struct options *given);
/* Implements bench --device cuda: on a GPU, in comparison with cuBLAS. */
int bench_on_cuda(const struct command *self, const struct options *given);
/* Implements bench sim [FILE[:KERNEL]]: measures the speed of the simulator. */
int bench_simulator(const struct command *self, const struct options *given, int word);

/* Stores the library's message about a status in the row: "FILE:LINE: text". */
void bench_explain(struct bench_row *row, const tw_context *ctx, tw_status s);
/* Store in the row the verdict of `ensures` on a run, and the result of a further comparison
 * with the reference that `with` names. */
void bench_take_verdict(struct bench_row *row, const tw_context *ctx, tw_status s,
                        const tw_verdict *v);
void bench_take_check(struct bench_row *row, const struct value_check *v, const char *with);
/* Likewise, of a comparison with samples. */
void bench_take_samples(struct bench_row *row, const struct value_check *v);

/* Columns of the table for the CPU. */
struct bench_columns {
    int name_width;
    bool batched; /* some rows have a batch */
};
void bench_header(bool products, const struct bench_columns *c);
void bench_print(const struct bench_row *row, const struct bench_columns *c);
/* Prints a library's own time for the size of `like`, below the kernels of that size. */
void bench_print_library(const struct bench_row *like, const struct library_row *l,
                         const struct bench_columns *c);
void bench_json(const struct bench_row *row, struct json *j);
/* Writes the origin of the tuned values: "tuned", "best as predicted from m=16,n=4096,k=4096". */
void bench_origin(const struct bench_row *row, char *out, size_t size);
/* Adds how a family chose the kernel; nothing if none did. */
void bench_json_choice(const struct bench_row *row, struct json *j);
/* Adds, for any device, the verdict on the values and the name of their reference. `result` is
 * the verdict as text. */
void bench_json_values(const struct bench_row *row, const char *result, struct json *j);

#endif
