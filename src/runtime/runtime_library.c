/* Libraries of kernels that a program loads while it runs. */
#include "runtime/runtime.h"

int cudaLibraryLoadData(void **library, const void *image, int *jit, void **jit_values,
                        unsigned jit_count, int *options, void **values, unsigned count)
{
    ENTER;
    return runtime_done(
        cuLibraryLoadData(library, image, jit, jit_values, jit_count, options, values, count));
}

int cudaLibraryLoadFromFile(void **library, const char *path, int *jit, void **jit_values,
                            unsigned jit_count, int *options, void **values, unsigned count)
{
    ENTER;
    return runtime_done(
        cuLibraryLoadFromFile(library, path, jit, jit_values, jit_count, options, values, count));
}

int cudaLibraryUnload(void *library)
{
    ENTER;
    return runtime_done(cuLibraryUnload(library));
}

int cudaLibraryGetKernel(void **kernel, void *library, const char *name)
{
    ENTER;
    return runtime_done(cuLibraryGetKernel(kernel, library, name));
}

int cudaLibraryGetGlobal(void **address, size_t *bytes, void *library, const char *name)
{
    ENTER;
    uint64_t at = 0;
    int result = cuLibraryGetGlobal(&at, bytes, library, name);
    if (result == DRIVER_SUCCESS && address)
        *address = (void *)(uintptr_t)at;
    return runtime_done(result);
}

int cudaLibraryGetKernelCount(unsigned *count, void *library)
{
    ENTER;
    return runtime_done(cuLibraryGetKernelCount(count, library));
}

int cudaLibraryEnumerateKernels(void **kernels, unsigned count, void *library)
{
    ENTER;
    return runtime_done(cuLibraryEnumerateKernels(kernels, count, library));
}

int cudaKernelSetAttributeForDevice(void *kernel, int attribute, int value, int device)
{
    ENTER;
    return runtime_done(cuKernelSetAttribute(attribute, value, kernel, device));
}
