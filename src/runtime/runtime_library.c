/* Libraries of kernels that a program loads while it runs. */
#include "runtime/runtime.h"

ENTRY(cudaLibraryLoadData,
      (void **library, const void *image, int *jit, void **jit_values, unsigned jit_count,
       int *options, void **values, unsigned count),
      cuLibraryLoadData(library, image, jit, jit_values, jit_count, options, values, count))
ENTRY(cudaLibraryLoadFromFile,
      (void **library, const char *path, int *jit, void **jit_values, unsigned jit_count,
       int *options, void **values, unsigned count),
      cuLibraryLoadFromFile(library, path, jit, jit_values, jit_count, options, values, count))
ENTRY(cudaLibraryUnload, (void *library), cuLibraryUnload(library))
ENTRY(cudaLibraryGetKernel, (void **kernel, void *library, const char *name),
      cuLibraryGetKernel(kernel, library, name))

int cudaLibraryGetGlobal(void **address, size_t *bytes, void *library, const char *name)
{
    ENTER;
    uint64_t at = 0;
    int result = cuLibraryGetGlobal(&at, bytes, library, name);
    if (result == DRIVER_SUCCESS && address)
        *address = (void *)(uintptr_t)at;
    return runtime_done(result);
}

ENTRY(cudaLibraryGetKernelCount, (unsigned *count, void *library),
      cuLibraryGetKernelCount(count, library))
ENTRY(cudaLibraryEnumerateKernels, (void **kernels, unsigned count, void *library),
      cuLibraryEnumerateKernels(kernels, count, library))
ENTRY(cudaKernelSetAttributeForDevice, (void *kernel, int attribute, int value, int device),
      cuKernelSetAttribute(attribute, value, kernel, device))
