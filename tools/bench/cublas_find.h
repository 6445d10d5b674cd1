/* Finds libcublas and libcublasLt. */
#ifndef TW_CUBLAS_FIND_H
#define TW_CUBLAS_FIND_H

#include <stdbool.h>

struct cublas_libraries {
    void *blas, *lt; /* of dlopen; lt NULL: only libcublas was found */
};
/* Searches the places that cublas_open lists. Returns false if there is no library. */
bool cublas_find(struct cublas_libraries *out);

#endif
