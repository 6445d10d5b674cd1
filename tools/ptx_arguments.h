/* The grammar of --arg: a value, an array, a struct of both.
 *
 *   argument = array | value | struct | bytes | null
 *   array    = TYPE "[" N "]" … ":" fill | "@" FILE | "=" REFERENCE ["+" ELEMENTS]
 *   fill     = ( rand | zero | iota | ones | wide | "=" VALUE | "@" FILE ) [ "[" ELEMENTS "]" ] | none
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

#include "ptx_file.h"
#include "tensor.h"
#include "tilewright_sim.h"

/* The array that a pointer of the launch points to. */
struct ptx_array {
    tw_array array;
    char *path;   /* "1": an argument; "0.2": a field of one */
    char *name;   /* for messages: the parameter's, or "argument 2" where that is not known */
    bool named;   /* it is the parameter's */
    int argument; /* whose it is */
    size_t at;    /* of a field: where its pointer lies */
    bool is_field;
    bool is_view;       /* of an array before it, whose memory it shares */
    bool uninitialised; /* except for the bytes at the start below */
    size_t initialised;
    bool changes; /* the start says nothing, so it is worth showing */
    char *file;   /* where it comes from, or NULL */
    void *before; /* its content at the start; NULL: a view */
    char *out;    /* --out: where it goes, or NULL */
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

/* One --arg; `param` is what the kernel takes there, with bytes 0 where it takes nothing. False:
 * *why, which the caller frees, says what is wrong. a->name is set. */
bool ptx_argument_read(struct ptx_argument *a, int index, const char *text,
                       const tw_ptx_param *param, struct ptx_arrays *arrays, uint64_t seed,
                       char **why);
/* An array by its path, or its name; NULL: there is none. */
struct ptx_array *ptx_array_find(const struct ptx_arrays *arrays, const char *text);
void ptx_arrays_free(struct ptx_arrays *arrays);

#endif
