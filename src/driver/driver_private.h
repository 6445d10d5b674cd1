/* The agreement between the driver library and the other libraries of this project, the runtime and
 * cuBLAS: a table that cuGetExportTable returns for an id of its own. */
#ifndef TW_DRIVER_PRIVATE_H
#define TW_DRIVER_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static const unsigned char driver_private_id[16] = "tilewright-app1";

/* Rows of bytes on the device that work of another library reads or writes. */
struct driver_region {
    uint64_t address;
    size_t width, height, pitch; /* bytes, rows, bytes from row to row */
    bool writes;
    const char *what; /* in reports: "a product reads" */
};
/* Work of another library: a function of the host, which gets a copy of `user`, and the host addresses
 * of the regions. */
struct driver_stub {
    const struct driver_region *regions;
    int count;
    void (*function)(void *user, void *const *hosts);
    const void *user;
    size_t user_bytes;
};

struct driver_place;
struct driver_private {
    /* Names the call that follows, and its end; calls nest. */
    void (*enter)(const char *name);
    void (*leave)(void);
    /* Frames of the library with this address are not places of the program. */
    void (*skip)(const void *address);
    /* Reports an error that the program never asked for: of a launch by <<<>>>, or (`next` is not NULL)
     * of a call, after which it went on with the call `next`; then it is a warning. */
    void (*unseen)(const char *what, const char *error, const struct driver_place *site,
                   const char *next);
    /* Returns how many findings were reported so far. */
    int (*findings)(void);
    /* Reports a call of the runtime that is not supported. */
    void (*missing)(const char *name);
    /* Returns the place of a kernel's launch; NULL: no memory. */
    const struct driver_place *(*site)(void *kernel);
    /* Returns true if other libraries may do their work on the host: --stub. */
    bool (*has_stubs)(void);
    /* Enqueues work. Returns the driver's result. */
    int (*stub)(void *stream, const struct driver_stub *s);
    /* Returns the host address of memory of the device; NULL after a report. */
    const void *(*bytes)(uint64_t address, size_t bytes, const char *what);
    /* Reports a fault of the call in progress. */
    void (*fault)(const char *kind, const char *message);
};

#endif
