/* What `explain` has found out, and how it is shown. */
#ifndef TW_EXPLAINED_H
#define TW_EXPLAINED_H

#include "settings.h"
#include "tilewright_model.h"

#include <string.h>

enum { MOST_SWEEPS = 4 };

/* One kernel with one choice of sizes, types and tuned values. */
struct explain_row {
    struct program program;
    tw_kernel *kernel; /* as the GPU's target has it */
    tw_launch *launch;
    struct assignment swept[MOST_SWEEPS];
    int swept_count;
    char *name;    /* "tiled T=16": which of several it is */
    char *choice;  /* "m=1024 n=1024 k=1024, T=32" */
    size_t sizes;  /* bytes of it that are sizes: "m=1024 n=1024 k=1024" */
    char *arrays;  /* "a f32[1024][1024], …"; NULL: not known */
    char *assumed; /* "m=1024,…": sizes that nobody set; NULL: none */
    char *text;    /* the program with other constants; NULL: none was swept */
    char *advice;  /* the explanation's own, and which size is too large; where it does not compile,
                      the place and what may help; NULL: none of these */
    char *why_not; /* why there is no explanation, of one of several; NULL: there is one */
    tw_status refused; /* the same as a status */
    tw_explanation e;
    double measured; /* seconds, on the GPU that is here; 0: not measured */
};

struct explain {
    const struct command *command;
    const struct options *given;
    struct complaints complaints;
    tw_context *ctx;
    tw_gpu gpu;
    bool measures;
    bool reported;      /* what there is has been printed */
    char *measured_on;  /* the GPU that is here, where it is another; NULL */
    char *not_measured; /* why, where it was asked for; NULL */
    int row_count;
    struct explain_row *rows;
};

/* --- explain_rows.c --- */

/* Finds all kernels that the words, --compare and --sweep ask for, and explains each; one of
 * several that cannot be explained has `why_not`. STATUS_OK, or a status after a message. */
int explain_find_rows(struct explain *x);
void explain_free_rows(struct explain *x);

/* A launch of the kernel, which may be for another target, with all that the options, the sweep and
 * the usual sizes say. STATUS_OK, or a status after a message. */
int explain_launch(struct explain *x, struct explain_row *r, tw_kernel *k, tw_launch **out);

/* --- explain_const.c --- */

/* Tells whether the file has a constant of that name, `const i32 T = 32;`, outside its kernels. */
bool explain_has_const(const char *text, const char *name);
/* Adds the names of all such constants to a list that grows, and whose strings the caller frees too. */
void explain_consts(const char *text, char ***names, int *count);
/* Returns the text with another value of the constant, all lines in place; NULL if it has no such
 * constant. The caller frees. */
char *explain_with_const(const char *text, const char *name, const char *value);

/* --- explain_derived.c --- */

/* The units that the kernel's products are done in, "tensor", else of "f32" and "f64" those that
 * take longer (NULL: none), and their rate by the data sheet in FLOP/s: of tensor units for the
 * type of the first array that is read. */
const char *explain_units(const struct explain_row *r, double *peak);
double explain_peak(const struct explain_row *r); /* the rate alone; 0: it has no such FLOPs */
const tw_roof *explain_roof(const tw_explanation *e, const char *name); /* NULL: it has none */
/* Returns the name of a roof in the report; that of shared memory and L1 depends on which of them the
 * kernel uses. `name` is NULL if none binds. */
const char *explain_roof_name(const tw_explanation *e, const char *name);
/* Returns the part of the last wave that is full: 1 if every place has a block. */
double explain_last_wave(const tw_explanation *e);
/* B/s: each array once, in the predicted time; 0: not known. How copies are rated. */
double explain_bandwidth(const tw_explanation *e);
/* How a level of memory is called on this GPU: "HBM" by its memory's kind, where it has other. */
const char *explain_level_name(const tw_gpu *g, const char *name);
/* "m=1024 n=1024 k=1024", where several rows all have these; else NULL. The caller frees. */
char *explain_same_sizes(const struct explain *x);
/* FLOP/s at the two ends of the predicted time, low ≤ middle ≤ high. */
tw_range explain_speed(const tw_explanation *e);
/* Line `line` (from 1) of the program without the blanks around it and the comment behind it; NULL:
 * there is none. The caller frees. */
char *explain_source_line(const struct explain_row *r, int line);
/* What stands there, as "A[row][p]": a name with its indices. NULL: none does. The caller frees. */
char *explain_source_access(const struct explain_row *r, int line, int column);

/* --- explain_measure.c --- */

void explain_measure(struct explain *x);

/* --- explain_page.c, explain_table.c --- */

void explain_page(const struct explain *x, const struct explain_row *r);
void explain_table(const struct explain *x);

/* --- explain_gpu.c --- */

/* A type's units on a GPU, as both show them; false past the last. Rates are of three digits, as
 * data sheets have them, so that what follows from them can be followed by hand. */
struct gpu_ridge {
    const char *type, *units;
    int bytes;          /* of an element */
    double peak, ridge; /* FLOP/s; FLOP/B */
};
bool explain_ridge_at(const tw_gpu *g, int index, struct gpu_ridge *out);

/* A GPU alone: what its roofline says before there is a kernel. */
struct ridge_request {
    double intensity; /* FLOP/B, for which the share of the peak is told */
    double ridge;     /* one more, besides the GPU's; 0: none */
};
void explain_gpu_alone(const tw_gpu *g, const struct ridge_request *asked);
void explain_gpu_list(void);

/* --- explain_json.c --- */

void explain_json(const struct explain *x);
void explain_gpu_json(const tw_gpu *g, const struct ridge_request *asked);
void explain_gpu_list_json(void);

/* --- explain_ptx.c --- */

/* Explains the kernel of a PTX or CUDA C file, and reports it while its texts live. */
int explain_ptx(struct explain *x, const struct program_config *config,
                int (*report)(struct explain *));

/* --- explain_ways.c --- */

struct explain_way {
    const char *name, *title; /* "thread", "each thread's elements" */
    double read, written, bytes;
    double intensity; /* useful FLOPs a byte; 0: no bytes are known */
};
enum { EXPLAIN_WAYS = 6 };
/* The bytes of global memory, counted in six ways; 0: the launch has none. */
int explain_ways(const tw_explanation *e, struct explain_way ways[EXPLAIN_WAYS]);
const struct explain_way *explain_way_named(const struct explain_way *ways, int count,
                                            const char *name);

/* --- explain_svg.c, explain_bars.c --- */

/* A roofline diagram of all rows. by: the way of counting ("thread") that gives each kernel one
 * intensity, on the roof of memory; NULL: each level's, as the hardware moves bytes. STATUS_OK, or a
 * status after a message. */
int explain_svg(struct explain *x, const char *path, const char *by);
/* Bars of all rows: how fast they are, or what they move. */
int explain_bars(struct explain *x, const char *path, bool ladder);

#endif
