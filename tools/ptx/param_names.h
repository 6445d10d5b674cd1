/* Finds the names and types of a kernel's parameters in its source, because PTX does not have
 * them. */
#ifndef TW_PARAM_NAMES_H
#define TW_PARAM_NAMES_H

/* Sets names[0 … count-1] to the parameter names of the `__global__` function with that name and
 * number of parameters in CUDA C (NULL: not known; the caller frees). If a name was set before
 * and differs, it is ambiguous: it becomes "" and stays so. types[i]: the type as the first such
 * function declares it, "const T *", or NULL; the caller frees. */
void param_names_in(const char *source, const char *function, int count, char **names,
                    char **types);

#endif
