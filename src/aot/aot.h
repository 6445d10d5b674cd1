/* Ahead of time: lowered kernels as C to ship, NAME.h and NAME.c.
 *
 *   aot.c         what is built: functions, versions, images, and which version a launch takes
 *   aot_expr.c    scalar expressions of a kernel as expressions of C
 *   aot_plan.c    what follows from the sizes of a launch, as statements of C
 *   aot_header.c  NAME.h, with what each function takes
 *   aot_source.c  NAME.c: images, tables, functions
 *   aot_module.*.in  the parts of both that are always the same
 *
 * A *function* of NAME.h launches one kernel for one choice of element types. It has *rows*: for
 * which values a launch takes which *version*, a kernel compiled once. Versions come in *images*:
 * PTX, and the machine code that an assembler made of it.
 */
#ifndef TW_AOT_H
#define TW_AOT_H

#include "lower/lower.h"

struct aot_param {
    const char *name;
    const char *c_name; /* set by aot_add: the name where C has another use for it */
    bool is_pointer, is_const, is_static;
    enum dtype dtype;
    const char *shape; /* of a pointer, as written: "[m][k]"; "" where no view says it */
    bool has_default;
    struct literal default_value;
    const struct expr *derived; /* computed by the function itself; NULL: the caller gives it */
    const char *derived_text;   /* as written */
    const char *value;          /* set by aot_add: `derived` as an expression of C */
};

/* Values of a parameter for which a row is meant, both included. */
struct aot_range {
    int param;
    int64_t least, most;
};

struct aot_row {
    int version;
    const struct lower_target *target;
    const char *device;           /* the GPU's own name; NULL: any */
    const struct literal *values; /* by parameter; of static ones */
    const bool *divisible;        /* by parameter: 16 divides it */
    int alignment; /* bytes that divide each address, or an element's size: 16 … 1 */
    int range_count;
    const struct aot_range *ranges;
    const char *tuned; /* "BM = 128, BN = 64", for people */
};

struct aot_function {
    const char *name;          /* in C */
    const char *kernel, *file; /* what it launches, and where that is written */
    const char *types;         /* "T = f16", "" */
    int param_count;
    const struct aot_param *params;
    int rooms; /* views in the workspace, at most */
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
    const char *version; /* of what makes it: "1.0.0" */
    VEC(struct aot_function) functions;
    VEC(struct aot_version) versions;
    VEC(struct aot_image) images;
    VEC(const char *) devices; /* that rows name */
};

/* One compiled kernel to add. Texts are copied; `kernel` is after all passes. */
struct aot_given {
    const struct kernel *kernel;
    const struct lowered *lowered;
    const struct lower_target *target;
    const char *file;   /* of the kernel's text */
    const char *types;  /* "T = f16" */
    const char *suffix; /* "f16": of the function's name; "": none */
    int param_count;
    const struct aot_param *params;
    struct aot_row row; /* but for version and target */
};

/* Whether files and names of C can start with it. */
bool aot_name_good(const char *name);
/* Of the rows of a function a launch takes the first that goes with it. False: reported. */
bool aot_add(struct aot_build *b, const struct aot_given *given, struct diag *diag);

/* Rows that never decide go, and what only they had: before images are looked at. */
void aot_settle(struct aot_build *b);

void aot_header(struct text *out, struct aot_build *b);
void aot_source(struct text *out, struct aot_build *b);

/* --- between the files of this folder --- */

/* e as an expression of C over the parameters; false: it is none of integers and parameters. */
bool aot_expr(struct text *out, const struct expr *e, const struct aot_param *params);
/* The statements for one version; false: reported. */
bool aot_plan(struct text *out, const struct aot_given *given, const struct aot_param *params,
              struct diag *diag);
int aot_rooms(const struct lowered *lowered);
/* Of all rows. */
int aot_least_alignment(const struct aot_function *f);

/* A text in quotes, as C reads it. */
void aot_quote(struct text *out, const char *s, size_t length);
/* The text in lines of 100 columns where they can be broken. */
void aot_wrap(struct text *out, const char *text);
/* "MATMUL" */
const char *aot_upper(const struct aot_build *b);
const char *aot_c_type(enum dtype t);
/* "matmul_status f(matmul_module *module, …)", without what ends it. */
void aot_prototype(struct text *out, const struct aot_build *b, const struct aot_function *f);
void aot_workspace_prototype(struct text *out, const struct aot_build *b,
                             const struct aot_function *f);
/* "1.5", "-0.0", "-nan" */
void aot_show_float(struct text *out, enum dtype t, double v);
/* "n = 4096, k = 4096"; "": there are no static parameters. */
const char *aot_statics(struct arena *a, const struct aot_function *f, const struct aot_row *r);
/* Whether the image's PTX is shipped: it has no machine code, or is of the least target. */
bool aot_ships_ptx(const struct aot_build *b, const struct aot_image *image);
/* The targets, the best first, each once. */
int aot_targets(const struct aot_build *b, const struct lower_target **list, int most);

enum { AOT_MOST_TARGETS = 32 };

/* A template with "@key@" filled in. */
struct aot_slot {
    const char *key, *value;
};
void aot_fill(struct text *out, const unsigned char *form, size_t length,
              const struct aot_slot *slots, int count);
/* Made by what, of what. */
const char *aot_about(struct aot_build *b);

#endif
