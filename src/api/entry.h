/* The parts of entries: entry.c starts kernels on the fast path, entry_slow.c takes all other
 * starts, entry_variant.c makes variants, entry_new.c makes and frees entries. */
#ifndef TW_ENTRY_H
#define TW_ENTRY_H

#include "api/entry_table.h"
#include "api/launch_params.h"

#include "base/platform.h"
#include "tile/launch_sizes.h"

struct entry_param {
    tw_value_kind kind;
    enum dtype dtype; /* of a pointer: its elements */
    bool is_static;
    bool single; /* takes only one value: */
    uint64_t only;
    uint64_t below;  /* pointers: bits that an element's address has as 0 */
    int64_t least;   /* integers */
    uint64_t span;   /* the greatest value minus `least` */
    uint64_t preset; /* the default */
    int cluster; /* device.clusters after device.sms: blocks of a cluster; 0: another parameter */
};

/* A tensor map of a variant, whose view starts at the address of an argument. */
struct entry_map {
    struct map_form form;
    enum dtype type;
    unsigned char base; /* the parameter */
};
enum {
    ENTRY_MAPS = 16,         /* of a variant that starts quickly */
    FROM_MAPS = ENTRY_PARAMS /* `from` of the first map */
};

struct entry_variant {
    struct entry_item item; /* first: the table holds its address */
    struct entry_variant *next;
    struct variant *variant;
    struct launch_sizes sizes;
    bool quick;                        /* the driver's launch is all that is needed */
    const struct cpu_program *program; /* the host's */
    struct cuda_quick launch;
    struct cuda_encoder encoder;
    int passed;                                    /* arguments that the kernel gets, */
    unsigned char from[ENTRY_PARAMS + ENTRY_MAPS]; /* by parameter, then by map */
    int map_count;
    struct entry_map map[ENTRY_MAPS];
    struct launch_sizes map_sizes; /* of the maps' views */
    /* Arrays that must not share memory, the first of which is written; NULL: all may. */
    int pairs;
    unsigned char (*pair)[2];
};

struct tw_entry {
    tw_entry *next; /* of the context */
    int param_count;
    struct entry_param params[ENTRY_PARAMS];
    int argument_count, least_arguments;     /* if fewer are given, defaults follow */
    unsigned char argument_of[ENTRY_PARAMS]; /* the parameter of each argument */
    int derived_count;                       /* parameters that the launch computes */
    uint64_t counted[ENTRY_FACTS];           /* bits of a key that are facts: floats have none */
    unsigned char derived[ENTRY_PARAMS];
    struct launch_sizes derive;
    atomic_bool full; /* new facts get the variant that assumes none */
    struct entry_table table;
    /* under the lock */
    struct platform_lock *lock;
    const struct executor *executor;
    struct cpu_options options; /* the host's */
    tw_context *owner;
    tw_context *ctx;           /* the entry's own */
    const char *made_ready_by; /* the call that a capture's refusal names */
    tw_launch *launch;
    struct variant *making;
    struct entry_variant *variants;
};

/* The arguments of a start. */
struct given {
    uint64_t value[ENTRY_PARAMS]; /* in the form that the kernel gets */
    struct entry_key key;
    bool has_null; /* an address is NULL */
};

/* The resources that a start takes of the GPU. */
struct entry_needs {
    tw_occupancy occupancy;
    int64_t workspace_bytes;
};

struct entry_call {
    tw_entry *entry;
    const tw_value *arguments;
    int count;
    void *stream;
    tw_error *error;           /* NULL: the caller wants none */
    bool start;                /* else only prepares the start */
    struct entry_needs *needs; /* to be filled; NULL: not asked */
};

/* --- entry_arguments.c --- */

/* Converts a float to the parameter's type. Returns false if it is outside the type's range. */
bool entry_float_bits(enum dtype t, double v, uint64_t *bits);
/* Returns true if the entry takes this number of arguments. */
bool entry_count_fits(const tw_entry *e, int count);
/* Takes the arguments, whose number fits the entry. Returns false if one is invalid. */
bool entry_take_arguments(const tw_entry *e, const tw_value *arguments, int count, struct given *g);
/* Returns the variant for these arguments; NULL: there is none yet. */
const struct entry_variant *entry_find_variant(tw_entry *e, const struct given *g);
/* Returns the first pair of arrays that are at one address and must not be; NULL: none. The
 * lengths of the arrays are not known here. */
const unsigned char *entry_shared_pair(const struct entry_variant *v, const struct given *g);
/* Makes the key one of a variant that assumes no facts. */
void entry_forget_facts(struct entry_key *key);

/* --- entry_slow.c --- */

/* Makes a call on the entry's own context, which one thread uses at a time. */
tw_status entry_call_locked(tw_entry *e, tw_error *error, tw_status (*body)(void *call),
                            void *call);
tw_status entry_start_slowly(struct entry_call *c);
/* Fills the launch as if the caller had set the scalars by name. */
void entry_fill_launch(tw_entry *e, const struct given *g, const struct entry_variant *v);
/* Refuses the first NULL array that has elements. The launch is filled. */
tw_status entry_check_nulls(tw_entry *e, const struct given *g);

/* --- entry_variant.c --- */

/* Fills in the choice that a launch would resolve from names: the values, and the facts in the
 * key. */
void entry_fill_choice(tw_entry *e, const struct given *g);
/* Gives the variant for these arguments, which it makes if there is none. */
tw_status entry_variant_of(const struct entry_call *c, struct given *g,
                           const struct entry_variant **out);
/* Frees the variant whose making failed. */
void entry_drop_unfinished(tw_entry *e);

#endif
