/* Ahead of time: lowered kernels as C to ship, NAME.h and NAME.c.
 *
 *   aot.c         functions, versions, images, and the rule by which a launch takes a version
 *   aot_expr.c    scalar expressions of a kernel as expressions of C
 *   aot_plan.c    consequences of a launch's sizes, as statements of C
 *   aot_header.c  NAME.h, with the parameters of each function
 *   aot_source.c  NAME.c: images, tables, functions
 *   aot_module.*.in  the constant parts of both
 *
 * A *function* of NAME.h launches one kernel for one choice of element types. It has *rows*: the
 * values for which a launch takes a *version*, a kernel compiled once. Versions are in *images*:
 * PTX, and the machine code that an assembler made of it. */
#ifndef TW_AOT_H
#define TW_AOT_H

#include "lower/lower.h"

struct aot_param {
    const char *name;
    const char *c_name; /* set by aot_add: another name, if C has a use for the parameter's */
    bool is_pointer, is_const, is_static;
    enum dtype dtype;
    const char *shape; /* shape of a pointer, as written: "[m][k]"; "": no view has it */
    bool has_default;
    struct literal default_value;
    const struct expr *derived; /* the expression that the function computes; NULL: the caller
                                 * passes the value */
    const char *derived_text;   /* as written */
    const char *value;          /* set by aot_add: `derived` as an expression of C */
};

/* Range of a parameter's values for which a row is meant, bounds included. */
struct aot_range {
    int param;
    int64_t least, most;
};

struct aot_row {
    int version;
    const struct lower_target *target;
    const char *device;           /* the GPU's own name; NULL: any */
    const struct literal *values; /* values of static parameters, by parameter */
    const bool *divisible;        /* by parameter: divisible by 16 */
    int alignment; /* alignment of each address in bytes, 16 … 1, or the element's size if that
                    * is more */
    int range_count;
    const struct aot_range *ranges;
    const char *tuned; /* "BM = 128, BN = 64", for people */
};

struct aot_function {
    const char *name;          /* in C */
    const char *kernel, *file; /* the kernel it launches, and the file that declares it */
    const char *types;         /* "T = f16", "" */
    int param_count;
    const struct aot_param *params;
    int rooms; /* most views in the workspace */
    VEC(struct aot_row) rows;
};

struct aot_version {
    int image;
    const char *entry;
    int block[3];
    int64_t shared_bytes;
    bool cooperative;
    int alignment;    /* as of its rows */
    const char *plan; /* statements of C: aot_plan.c */
};

struct aot_image {
    const char *ptx;
    const struct lower_target *target;
    const unsigned char *cubin; /* NULL: none */
    size_t cubin_length;
};

struct aot_build {
    struct arena *arena;
    const char *name;
    const char *version; /* version of the compiler: "1.0.0" */
    VEC(struct aot_function) functions;
    VEC(struct aot_version) versions;
    VEC(struct aot_image) images;
    VEC(const char *) devices; /* that rows name */
};

/* A compiled kernel to add. Texts are copied; `kernel` has passed all passes. */
struct aot_given {
    const struct kernel *kernel;
    const struct lowered *lowered;
    const struct lower_target *target;
    const char *file;   /* of the kernel's text */
    const char *types;  /* "T = f16" */
    const char *suffix; /* suffix of the function's name: "f16"; "": none */
    int param_count;
    const struct aot_param *params;
    struct aot_row row; /* without version and target */
};

/* Returns true if names of files and of C may start with it. */
bool aot_name_good(const char *name);
/* Adds a row. A launch takes the first row of its function that fits. Returns false after a
 * report. */
bool aot_add(struct aot_build *b, const struct aot_given *given, struct diag *diag);

/* Removes rows that never decide, and versions and images that only they used. Call it before
 * images are read. */
void aot_settle(struct aot_build *b);

void aot_header(struct text *out, struct aot_build *b);
void aot_source(struct text *out, struct aot_build *b);

/* --- between the files of this folder --- */

/* Prints e as an expression of C over the parameters. Returns false if it has more than integers
 * and parameters. */
bool aot_expr(struct text *out, const struct expr *e, const struct aot_param *params);
/* Prints the statements for one version. Returns false after a report. */
bool aot_plan(struct text *out, const struct aot_given *given, const struct aot_param *params,
              struct diag *diag);
int aot_rooms(const struct lowered *lowered);
/* Returns the least alignment of all rows. */
int aot_least_alignment(const struct aot_function *f);

/* Prints a text as a string literal of C. */
void aot_quote(struct text *out, const char *s, size_t length);
/* Prints a text in lines of 100 columns, broken where possible. */
void aot_wrap(struct text *out, const char *text);
/* "MATMUL" */
const char *aot_upper(const struct aot_build *b);
const char *aot_c_type(enum dtype t);
/* Prints "matmul_status f(matmul_module *module, …)" without the end of the declaration. */
void aot_prototype(struct text *out, const struct aot_build *b, const struct aot_function *f);
void aot_workspace_prototype(struct text *out, const struct aot_build *b,
                             const struct aot_function *f);
/* "1.5", "-0.0", "-nan" */
void aot_show_float(struct text *out, enum dtype t, double v);
/* Returns "n = 4096, k = 4096", or "" if there are no static parameters. */
const char *aot_statics(struct arena *a, const struct aot_function *f, const struct aot_row *r);
/* Returns true if the image's PTX is shipped: it has no machine code, or it is of the least
 * target. */
bool aot_ships_ptx(const struct aot_build *b, const struct aot_image *image);
/* Gives each target once, the best first. */
int aot_targets(const struct aot_build *b, const struct lower_target **list, int most);

enum { AOT_MOST_TARGETS = 32 };

/* Name in a template, written as "@key@", and the text that replaces it. */
struct aot_slot {
    const char *key, *value;
};
void aot_fill(struct text *out, const unsigned char *form, size_t length,
              const struct aot_slot *slots, int count);
/* Returns the line that names the compiler and the sources. */
const char *aot_about(struct aot_build *b);

#endif
