/* Names and texts of error codes, for the calls of the driver and of the runtime. */
#ifndef TW_DRIVER_TEXTS_H
#define TW_DRIVER_TEXTS_H

struct driver_texts {
    int number;
    const char *driver_name;  /* "CUDA_ERROR_INVALID_VALUE" */
    const char *runtime_name; /* "cudaErrorInvalidValue" */
    const char *text;
};
/* Returns the texts of an error code; NULL: there is no such code. */
const struct driver_texts *driver_texts_of(int number);

#endif
