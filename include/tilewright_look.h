/* Looking inside: the typed program after each pass, layouts, names of a text, formatting.
 * May change with a minor version (docs/versions.md). */
#ifndef TILEWRIGHT_LOOK_H
#define TILEWRIGHT_LOOK_H

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the typed program after a pass, as text that compiles again. pass: a name of
 * tw_pass_name; NULL: the last; "check": the program before any pass. A static that an extent
 * needs and that is not set gets a small value, which a warning names. *text is valid until the
 * launch is freed or shown again. Returns TW_OK, TW_NOT_FOUND (no such pass) or the statuses of
 * tw_launch_prepare. */
TW_API tw_status tw_launch_show(tw_launch *l, const char *pass, const char **text);

/* A statement of the text of tw_launch_show. */
typedef struct tw_shown_line {
    size_t size;      /* tw_shown_line_init sets it */
    int line;         /* of the text, from 1 */
    const char *file; /* where it is in the source; NULL: not known */
    int source_line, source_column;
    bool added; /* by the compiler */
} tw_shown_line;
TW_SIZED(tw_shown_line);

/* Fills `out` with statement number `index` of the latest tw_launch_show, in the order of the
 * text. Returns false past the last. Valid as long as the text. */
TW_API bool tw_launch_shown_line(const tw_launch *l, int index, tw_shown_line *out);

/* The stages below the typed program (docs/lowering.md). */
typedef enum tw_stage {
    TW_STAGE_LAYOUT, /* for people: who holds what, where it lies, what each access costs */
    TW_STAGE_PTX,    /* the program that is assembled */
    TW_STAGE_THREAD  /* thread IR, from which the PTX is made: what one thread does */
} tw_stage;

/* Returns a stage of a launch of a kernel from tw_kernel_for_target. Sizes need not be set; those
 * that are set are used as in a run. It needs no GPU. *text is valid as that of tw_launch_show.
 * Returns the statuses of tw_launch_prepare, and TW_BAD_ARGUMENT for a kernel of the host. */
TW_API tw_status tw_launch_show_stage(tw_launch *l, tw_stage stage, const char **text);

/* A tile in registers, whose elements are distributed over the threads of a block; a tile in
 * shared memory; or a scalar in a register of each thread (rank 0, no layout). Elements are in
 * row-major order. */
typedef struct tw_tile {
    const char *name; /* in the program; NULL: it has none */
    const char *what; /* a tile without a name: "dot at 20:9, sum"; else NULL */
    bool shared;
    tw_dtype type; /* TW_DTYPE_NONE: not known */
    int bits;      /* of an element */
    int rank;
    int64_t shape[TW_MAX_RANK];
    const char *layout; /* as text (docs/lowering.md); NULL: a scalar */
    /* In shared memory: the offset in the block's memory (-1: not known), the length in bytes, the form
     * ("plain", "swizzled", …), and the place of each element, in bytes from the offset. */
    int64_t offset, bytes;
    const char *form;
    const uint32_t *places;
    /* In registers: the elements of a thread; the elements of a register; the most copies of an
     * element; for each element the first thread that holds it, and its number among that thread's
     * elements. Element number n of a thread is in registers[n / in_register]. */
    int held, in_register, copies;
    const int32_t *threads, *numbers;
    int register_count; /* 0: not known, or the tile has registers only some of the time */
    const char *const *registers; /* their names in the PTX: "%f0" */
} tw_tile;

/* A planned access to memory. */
typedef struct tw_tile_access {
    int line, column; /* 0: the compiler added the access */
    const char *tile; /* the view or tile; NULL: scratch memory of the compiler */
    bool shared, store;
    const char *how;           /* "ldmatrix.x4" */
    int bytes;                 /* of a lane */
    int64_t instructions;      /* of all warps of a block */
    int64_t wavefronts, least; /* shared: of all warps; 0: not known */
} tw_tile_access;

/* Tables of the facts that TW_STAGE_LAYOUT shows. */
typedef struct tw_layouts {
    size_t size; /* tw_layouts_init sets it */
    int block[3];
    int64_t shared_bytes; /* of a block */
    int registers;        /* of a thread, estimated */
    int tile_count;
    const tw_tile *tiles;
    int access_count;
    const tw_tile_access *accesses;
} tw_layouts;
TW_SIZED(tw_layouts);

/* Fills `out` with tables of the facts that TW_STAGE_LAYOUT shows. They are valid as long as its
 * text. Returns the statuses of tw_launch_show_stage. */
TW_API tw_status tw_launch_layouts(tw_launch *l, tw_layouts *out);

/* A name whose value a run shows each time that it is assigned. Rank 0: the whole value, long
 * axes by their ends; else `extent` indices of each axis from `first` on. */
typedef struct tw_probe {
    const char *name;
    int rank;
    int64_t first[TW_MAX_RANK], extent[TW_MAX_RANK];
} tw_probe;

/* The most probes of a launch. */
enum { TW_MOST_PROBES = 64 };

/* The values that a run shows. */
typedef struct tw_probe_options {
    size_t size; /* tw_probe_options_init sets it */
    const tw_probe *probes;
    int count; /* up to TW_MOST_PROBES */
    int line;  /* also shows all names that have a value, before each run of this line's first
                  statement, or of the next line that has one; 0: none */
    int64_t block[3]; /* the block that is shown */
    int thread[3];    /* thread level: the thread that is shown, unless all_threads */
    bool all_threads;
} tw_probe_options;
TW_SIZED(tw_probe_options);

/* Adds print() statements to the program of a launch, on any device. options: NULL for none; the
 * call copies everything that it points to. Each statement prints a row through the context's
 * print callback (tw_config): "block (0,0) $N = I, J, VALUE", with " thread (X,Y)" before the "$"
 * if the value is a thread's own; a tile of the whole block is printed once, whichever thread is
 * chosen. N is the number of the site, I and J are the counters of the loops around it. The values
 * that the program computes stay the same. Returns TW_OK, TW_NO_MEMORY or TW_BAD_ARGUMENT;
 * tw_launch_prepare returns TW_BAD_ARGUMENT for names, lines, blocks and threads that the kernel
 * does not have. A variable of a function is shown in every call of it. */
TW_API tw_status tw_launch_probe(tw_launch *l, const tw_probe_options *options);

/* A place that prints. */
typedef struct tw_probe_site {
    size_t size;      /* tw_probe_site_init sets it */
    const char *name; /* of the value; NULL: the row has counters alone, a stop at `line` begins */
    tw_dtype type;
    int rank;
    int64_t shape[TW_MAX_RANK];
    const char *file;
    int line, column;
    const char *const *counters; /* names, the outer loop's first */
    int counter_count;
    bool stops, last; /* one of the values of a stop; the last of them */
} tw_probe_site;
TW_SIZED(tw_probe_site);

/* Fills `out` with site number `index` of a launch that was prepared after tw_launch_probe.
 * Returns false past the last. Valid until the launch is probed again or freed. */
TW_API bool tw_launch_probe_site(const tw_launch *l, int index, tw_probe_site *out);

/* Returns the name of pass number `index`, or NULL past the last. */
TW_API const char *tw_pass_name(int index);

/* Returns a line about pass number `index`, or NULL past the last. */
TW_API const char *tw_pass_summary(int index);

/* Formats a program: the same tokens and comments, with indentation, spaces and line breaks of one
 * style (docs/editor.md). Formatting the result again does not change it. `name` is the file in
 * messages. *out ends with 0 and is valid until the next call on the context; *out_length (may be
 * NULL) is its length. Returns TW_OK, TW_NO_MEMORY, TW_CANCELLED, TW_BAD_ARGUMENT if a pointer is
 * NULL, or TW_BAD_PROGRAM if the text does not follow the grammar: the messages say where. */
TW_API tw_status tw_text_format(tw_context *ctx, const char *name, const char *text, size_t length,
                                const char **out, size_t *out_length);

/* The kinds of names that a text declares. */
typedef enum tw_symbol_kind {
    TW_SYMBOL_CONST,
    TW_SYMBOL_TUNE,
    TW_SYMBOL_TYPE,
    TW_SYMBOL_FN,
    TW_SYMBOL_KERNEL,
    TW_SYMBOL_PARAM,
    TW_SYMBOL_EXTENT, /* a name for an extent of a function's parameter, bound by the call */
    TW_SYMBOL_VIEW,   /* `global` */
    TW_SYMBOL_SHARED,
    TW_SYMBOL_REG,
    TW_SYMBOL_LOCAL, /* a scalar, or an array that is indexed */
    TW_SYMBOL_FAMILY
} tw_symbol_kind;
/* A part of a text: lines and columns count from 1, columns in bytes; the end is past the last
 * byte. */
typedef struct tw_part {
    int line, column, end_line, end_column;
} tw_part;
/* A name that a text declares. */
typedef struct tw_symbol {
    tw_symbol_kind kind;
    const char *name;
    const char *declaration; /* as written, on one line: "shared T sa[BM][BK]" */
    tw_part at;              /* the name where it is declared */
    tw_part whole; /* the declaration, from its first word; of a kernel or function with its body */
    tw_part scope; /* where the name is known */
    int owner;     /* index of its kernel or function; -1: it is the module's */
    int use_count;
    const tw_part *uses; /* other places of the name, in the order of the text */
} tw_symbol;
/* Finds the names that a program declares, for editors: *out has *count of them, first those of
 * the module, then kernel by kernel. A program with errors gives the names of the parts that can
 * be read; the call reports no errors (tw_module_from_text does). *out is valid until the next
 * call on the context. Returns TW_OK, TW_NO_MEMORY, TW_CANCELLED, or TW_BAD_ARGUMENT if a pointer
 * is NULL. */
TW_API tw_status tw_text_symbols(tw_context *ctx, const char *text, size_t length, int *count,
                                 const tw_symbol **out);

/* An `import "file.tile"` of a text, or a file of a `family`. */
typedef struct tw_import {
    tw_part at;       /* the quoted name, with its quotes */
    const char *path; /* the file; if none is found, the place in the text's folder */
    int found;        /* 1: the file can be read; 0: not */
} tw_import;
/* Finds the files that a text imports, and those of the kernels of its families, for editors: *out
 * has *count of them, in the order of the text. It looks for them as tw_module_from_text does. `name` is the text's own file, and its
 * folder comes first. The text may have errors; the call reports none. *out is valid until the
 * next call on the context. Returns TW_OK, TW_NO_MEMORY, TW_CANCELLED, or TW_BAD_ARGUMENT if a
 * pointer is NULL. */
TW_API tw_status tw_text_imports(tw_context *ctx, const char *name, const char *text, size_t length,
                                 int *count, const tw_import **out);

/* An expression of a kernel's text, without parentheses around the whole. Lines and columns count
 * from 1, columns and lengths in bytes. */
typedef struct tw_expression {
    int line, column, length;
    /* The operator "+" between the operands `left` and `right`. All three are NULL for another
     * expression, and for one of more than 64 levels. */
    const char *op;
    const struct tw_expression *left, *right;
    const char *name; /* of an expression that is a name; else NULL */
    bool is_number;   /* an integer literal, with the value `number` */
    int64_t number;
} tw_expression;

/* The indices of an element. */
typedef struct tw_element {
    tw_expression index[TW_MAX_RANK];
} tw_element;

/* An array in shared memory that the kernel's text declares. */
typedef struct tw_shared_array {
    const char *name;
    int line, column; /* of the name */
    int rank;
    tw_expression extents[TW_MAX_RANK];
    bool by_element; /* the text uses its elements alone: no slice, never the whole array */
    int element_count;
    const tw_element *elements; /* in the order of the text */
} tw_shared_array;

/* A constant with a literal as its value, of the kernel or the module: `const i32 T = 32`. */
typedef struct tw_named_number {
    const char *name;
    tw_expression value;
} tw_named_number;

/* The shared arrays and named numbers of a kernel's text. */
typedef struct tw_written {
    size_t size; /* tw_written_init sets it */
    int shared_count, number_count;
    const tw_shared_array *shared;
    const tw_named_number *numbers;
} tw_written;
TW_SIZED(tw_written);

/* Fills `out` with the arrays in shared memory that the kernel's text declares and uses, and the
 * integers that it names. Names that the kernel declares twice are left out. Valid until the
 * module is freed. Returns TW_OK, TW_BAD_ARGUMENT or TW_NO_MEMORY. */
TW_API tw_status tw_kernel_written(tw_kernel *k, tw_written *out);

/* Finds constant number `index` that the program compares an integer parameter with (`if (n ==
 * 7)`), or with which a slice of constant start and extent ends its axis (`A[0 +: 1024]` of
 * `A[n]`). Runs with that value and its neighbours take both branches. *param lives as long as the
 * kernel. Returns TW_OK, TW_NOT_FOUND past the last, or the status of a program that does not
 * compile. */
TW_API tw_status tw_launch_compared(tw_launch *l, int index, const char **param, int64_t *value);

/* Finds how many products of 8-bit floats a sum of the program adds in the fewer bits of its matrix
 * unit before it is promoted (docs/language.md, "Sums of 8-bit floats"): INT64_MAX for `sum(unit)`,
 * 0 if the program has no such sum. Sizes need not be set. Returns TW_OK, TW_BAD_ARGUMENT,
 * TW_NO_MEMORY or the status of a program that does not compile. */
TW_API tw_status tw_launch_unit_terms(tw_launch *l, int64_t *terms);

/* The use of an array, in the kernel or in its `ensures`. */
typedef struct tw_array_use {
    size_t size;   /* tw_array_use_init sets it */
    bool is_index; /* a value may become an index, the start of a slice or the bound of a loop */
    bool
        is_computed; /* some index is neither the value nor the value plus something: a product, … */
    bool is_starts; /* an index, read together with the next element: S[r] and S[r + 1] */
    bool is_atomic; /* an atomic operation changes elements */
    int64_t extent; /* the least extent of the axes that the values index; 0: not known */
} tw_array_use;
TW_SIZED(tw_array_use);

/* Fills `out` with the use of a pointer parameter, so that a program can choose random values:
 * indices must lie within the array that they index. It looks at all statements, also those that
 * no launch comes to. Sizes need not be set. Returns TW_OK,
 * TW_NOT_FOUND (no such array), TW_BAD_ARGUMENT, TW_NO_MEMORY or the status of a program that
 * does not compile. */
TW_API tw_status tw_launch_array_use(tw_launch *l, const char *array, tw_array_use *out);

#ifdef __cplusplus
}
#endif
#endif
