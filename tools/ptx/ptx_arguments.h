/* The grammar of --arg: a value, an array, a struct of both.
 *
 *   argument = array | value | struct | bytes | null
 *   array    = TYPE "[" N "]" … ":" fill | "@" FILE | "=" REFERENCE ["+" ELEMENTS]
 *   fill     = ( a name of --fill | "=" VALUE | "@" FILE ) [ "[" ELEMENTS "]" ] | none
 *   value    = TYPE ":" VALUE
 *   struct   = "{" member { "," member } "}"
 *   bytes    = bytes ":" ( HEXADECIMAL | "@" FILE )
 *   member   = [ NAME "=" ] ( array | value | TYPE ":" "{" VALUE { "," VALUE } "}" | struct | bytes
 *            | null )
 *            | pad ":" BYTES | at ":" OFFSET | align ":" BYTES
 *
 * An array in a struct is a pointer to it. Fields lie as in C; `bytes` has alignment 1. A value that
 * is given as `bytes` has the kind PTX_STRUCT.
 */
#ifndef TW_PTX_ARGUMENTS_H
#define TW_PTX_ARGUMENTS_H

#include "ptx/ptx_file.h"
#include "cli/tensor.h"
#include "tilewright_sim.h"

/* Array to which a pointer of the launch points. */
struct ptx_array {
    tw_array array;
    char *path;   /* "1": an argument; "0.2": a field of one */
    char *name;   /* for messages: the parameter's, or "argument 2" if not known */
    bool named;   /* the parameter's name */
    int argument; /* its argument's index */
    size_t at;    /* of a field: the offset of its pointer */
    bool is_field;
    bool is_view;       /* shares the memory of an earlier array */
    bool uninitialised; /* has no initial content, except for `initialised` bytes at the start */
    size_t initialised;
    bool changes; /* no initial content given: print it at the end */
    char *file;   /* its source, or NULL */
    void *before; /* its initial content; NULL: a view */
    char *out;    /* --out: its file, or NULL */
};

enum ptx_argument_kind { PTX_VALUE, PTX_ARRAY, PTX_STRUCT };
struct ptx_argument {
    enum ptx_argument_kind kind;
    tw_dtype type; /* of a value */
    uint8_t *value;
    uint8_t
        *unwritten; /* of a struct, for each byte: 1 if no field gives it; NULL: fields give all */
    size_t bytes;
    char *name; /* as an array's */
    bool named;
    int first_array, array_count;
    tw_ptx_pointer *pointers; /* of a struct */
};

struct ptx_arrays {
    struct ptx_array *list;
    int count;
};

/* Reads one --arg. `param` is the kernel's parameter; its bytes are 0 if there is none at that
 * index. Sets a->name. Returns false after setting *why to a message, which the caller frees. */
bool ptx_argument_read(struct ptx_argument *a, int index, const char *text,
                       const tw_ptx_param *param, struct ptx_arrays *arrays, uint64_t seed,
                       char **why);
/* Returns an array by its path or its name, or NULL if there is none. */
struct ptx_array *ptx_array_find(const struct ptx_arrays *arrays, const char *text);
void ptx_arrays_free(struct ptx_arrays *arrays);

#endif
