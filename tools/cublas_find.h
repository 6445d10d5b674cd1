/* Where libcublas and libcublasLt may be. */
#ifndef TW_CUBLAS_FIND_H
#define TW_CUBLAS_FIND_H

#include <stdbool.h>

struct cublas_libraries {
    void *blas, *lt; /* of dlopen; lt NULL: only libcublas is there */
};
/* As cublas_open says. false: there is none. */
bool cublas_find(struct cublas_libraries *out);

#endif
