/* Results of `explain`, and the functions that show them. */
#ifndef TW_EXPLAINED_H
#define TW_EXPLAINED_H

#include "cli/chosen.h"
#include "cli/settings.h"
#include "tilewright_model.h"

#include <string.h>

enum { MOST_SWEEPS = 4 };

/* Kernel with one choice of sizes, types and tuned values. */
struct explain_row {
    struct program program;
    tw_kernel *kernel; /* compiled for the GPU's target */
    tw_launch *launch;
    struct assignment swept[MOST_SWEEPS];
    int swept_count;
    char *name;           /* "tiled T=16": tells rows apart */
    char *choice;         /* "m=1024 n=1024 k=1024, T=32" */
    struct chosen chosen; /* of a family */
    size_t sizes;         /* bytes of `name` that are sizes: "m=1024 n=1024 k=1024" */
    char *arrays;         /* "a f32[1024][1024], …"; NULL: not known */
    char *assumed;        /* "m=1024,…": assumed sizes; NULL: none */
    char *text;           /* the program with swept constants; NULL: none */
    char *advice;  /* the explanation's own, and the size that is too large; if it does not compile,
                      the place and a hint; NULL: none of these */
    char *why_not; /* of one row of several: why it has no explanation; NULL: has one */
    tw_status refused; /* the same as a status */
    tw_explanation e;
    double measured; /* seconds, on this machine's GPU; 0: not measured */
};

struct explain {
    const struct command *command;
    const struct options *given;
    struct complaints complaints;
    tw_context *ctx;
    tw_gpu gpu;
    bool measures;
    bool reported;      /* results were printed */
    char *measured_on;  /* this machine's GPU, if it is another; or NULL */
    char *not_measured; /* reason, if --measure was given; or NULL */
    int row_count;
    struct explain_row *rows;
};

/* --- explain_rows.c --- */

/* Finds all kernels that the words, --compare and --sweep name, and explains each. If there are
 * several, one that cannot be explained gets `why_not`. Returns STATUS_OK, or another status
 * after printing a message. */
int explain_find_rows(struct explain *x);
void explain_free_rows(struct explain *x);

/* Prepares a launch of the kernel, which may be compiled for another target, with the values of
 * the options, the sweep and the usual sizes. Returns STATUS_OK, or another status after
 * printing a message. */
int explain_launch(struct explain *x, struct explain_row *r, tw_kernel *k, tw_launch **out);

/* --- explain_const.c --- */

/* Returns whether the file has a constant of that name, `const i32 T = 32;`, outside its
 * kernels. */
bool explain_has_const(const char *text, const char *name);
/* Adds the names of all such constants to a list, which grows. The caller frees the list and its
 * strings. */
void explain_consts(const char *text, char ***names, int *count);
/* Returns the text with another value of the constant, without moving any line, or NULL if it
 * has no such constant. The caller frees. */
char *explain_with_const(const char *text, const char *name, const char *value);

/* --- explain_derived.c --- */

/* Names the units that compute the kernel's products: "tensor", else "f32" or "f64", whichever
 * takes longer (NULL: none). Writes their rate in FLOP/s, by the data sheet, to *peak; the rate
 * of tensor units is that for the type of the first array that the kernel reads. */
const char *explain_units(const struct explain_row *r, double *peak);
double explain_peak(const struct explain_row *r); /* that rate; 0: no such FLOPs */
const tw_roof *explain_roof(const tw_explanation *e, const char *name); /* NULL: it has none */
/* Returns a roof's name for the report. The name for shared memory and L1 depends on which of
 * them the kernel uses. `name` is NULL if no roof binds. */
const char *explain_roof_name(const tw_explanation *e, const char *name);
/* Returns the occupied fraction of the last wave: 1 if every place has a block. */
double explain_last_wave(const tw_explanation *e);
/* Returns the bandwidth that rates copies, in B/s: each array once, in the predicted time. 0:
 * not known. */
double explain_bandwidth(const tw_explanation *e);
/* Returns the name of a memory level on this GPU; "HBM" is replaced if its memory is of another
 * kind. */
const char *explain_level_name(const tw_gpu *g, const char *name);
/* Returns the sizes "m=1024 n=1024 k=1024" if several rows share them, else NULL. The caller
 * frees. */
char *explain_same_sizes(const struct explain *x);
/* Returns the speeds in FLOP/s at the ends of the predicted time, low ≤ middle ≤ high. */
tw_range explain_speed(const tw_explanation *e);
/* Returns line `line` (from 1) of the program without outer blanks and trailing comment, or NULL
 * if there is no such line. The caller frees. */
char *explain_source_line(const struct explain_row *r, int line);
/* Returns the access at that place of the program, such as "A[row][p]": a name with its indices,
 * or NULL if there is none. The caller frees. */
char *explain_source_access(const struct explain_row *r, int line, int column);

/* --- explain_measure.c --- */

void explain_measure(struct explain *x);

/* --- explain_page.c, explain_table.c --- */

void explain_page(const struct explain *x, const struct explain_row *r);
void explain_table(const struct explain *x);

/* --- explain_gpu.c --- */

/* Units of a GPU for a type, as both outputs show them. Rates have three digits as in data
 * sheets, so that readers can recompute derived numbers by hand. The function returns false past
 * the last. */
struct gpu_ridge {
    const char *type, *units;
    int bytes;          /* of an element */
    double peak, ridge; /* FLOP/s; FLOP/B */
};
bool explain_ridge_at(const tw_gpu *g, int index, struct gpu_ridge *out);

/* GPU without a kernel, and the questions about its roofline. */
struct ridge_request {
    double intensity; /* FLOP/B at which to report the share of the peak */
    double ridge;     /* an additional ridge; 0: none */
};
void explain_gpu_alone(const tw_gpu *g, const struct ridge_request *asked);
void explain_gpu_list(void);

/* --- explain_json.c --- */

void explain_json(const struct explain *x);
void explain_gpu_json(const tw_gpu *g, const struct ridge_request *asked);
void explain_gpu_list_json(void);

/* --- explain_ptx.c --- */

/* Explains the kernel of a PTX or CUDA C file, and prints the report while its texts are valid. */
int explain_ptx(struct explain *x, const struct program_config *config,
                int (*report)(struct explain *));

/* --- explain_ways.c --- */

struct explain_way {
    const char *name, *title; /* "thread", "each thread's elements" */
    double read, written, bytes;
    double intensity; /* useful FLOPs per byte; 0: bytes not known */
};
enum { EXPLAIN_WAYS = 6 };
/* Counts the bytes of global memory in six ways. Returns the number of ways; 0: the launch has
 * no traffic. */
int explain_ways(const tw_explanation *e, struct explain_way ways[EXPLAIN_WAYS]);
const struct explain_way *explain_way_named(const struct explain_way *ways, int count,
                                            const char *name);

/* --- explain_svg.c, explain_bars.c --- */

/* Writes a roofline diagram of all rows. `by` names a way of counting ("thread"), which gives
 * each kernel one intensity, on memory's roof. `by` NULL: each level has its own intensity, by
 * the bytes that the hardware moves. Returns STATUS_OK, or another status after printing a
 * message. */
int explain_svg(struct explain *x, const char *path, const char *by);
/* Writes bars of all rows: their speeds (`ladder`) or their traffic. */
int explain_bars(struct explain *x, const char *path, bool ladder);

#endif
