/* The agreement between the driver library and the runtime library of this project: a table that
 * cuGetExportTable returns for an id of its own. */
#ifndef TW_DRIVER_PRIVATE_H
#define TW_DRIVER_PRIVATE_H

static const unsigned char driver_private_id[16] = "tilewright-app1";

struct driver_private {
    /* Names the call that follows, and its end; calls nest. */
    void (*enter)(const char *name);
    void (*leave)(void);
    /* Frames of the library with this address are not places of the program. */
    void (*skip)(const void *address);
    /* Reports an error of a launch by <<<>>> that the program never asked for. */
    void (*unseen)(const char *what, const char *error, const char *site);
    /* Reports a call of the runtime that is not supported. */
    void (*missing)(const char *name);
    /* Returns the text of the call site of a kernel's launch, which the caller frees; NULL: no
     * memory. */
    char *(*site)(void *kernel);
};

#endif
