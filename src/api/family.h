/* The insides of a family (tilewright_family.h).
 *
 *   family.c            the object: loading, its kernels and types
 *   family_files.c      from a path to the files and kernels of the members
 *   family_signature.c  the comparison of the members */
#ifndef TW_FAMILY_INTERNAL_H
#define TW_FAMILY_INTERNAL_H

#include "api/objects.h"
#include "tilewright_family.h"

/* A file of kernels, and the kernels of it that are members. */
struct family_file {
    const char *path;
    const char *kernel; /* NULL: `all`, or its only one */
    bool all;
    struct loc at, kernel_at; /* in the family's declaration; no source: there is none */
    tw_module *module;        /* NULL: not read yet */
    bool shares;              /* an earlier file has the same module */
};

struct family_member {
    tw_kernel *kernel; /* for the family's target */
    const char *path;  /* of its file */
    struct loc at;     /* in the family's declaration, or the kernel itself */
};

struct tw_family {
    tw_context *ctx;
    tw_family *next; /* of the context */
    struct arena arena;
    const char *name;
    const char *folder; /* of the table, with its '/' */
    const char *target; /* as the caller named it */
    struct source source;
    struct family_file *files;
    int file_count;
    struct family_member *members;
    int member_count;
    tw_dtype *types; /* by type variable of the first member */
};

/* Finds the family's name and files. Returns TW_OK, or reports. `name`: NULL for the only one. */
tw_status family_find(tw_family *f, const char *path, const char *name);
/* Makes a list of the members from the modules of the files, for the host. Returns TW_OK, or
 * reports. */
tw_status family_take_members(tw_family *f);
/* Compares all members with the first. Returns TW_OK, or TW_BAD_PROGRAM after reporting the first
 * difference of each. */
tw_status family_compare(tw_family *f);
/* Gives a launch of a member the family's types and tuned values. Returns TW_OK, or
 * TW_BAD_ARGUMENT after a report: the kernel lacks a type or a name. */
tw_status family_set_up(const tw_family *f, tw_launch *l, const char *tune);
/* Returns the index of a kernel's type variable; -1: none. */
int type_named(const struct lang_kernel *info, const char *name);

#endif
