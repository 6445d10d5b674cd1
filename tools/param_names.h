/* The names of a kernel's parameters in its source, which PTX does not have. */
#ifndef TW_PARAM_NAMES_H
#define TW_PARAM_NAMES_H

/* Sets names[0 … count-1] (to be freed; NULL: not known) to those of the `__global__` function of
 * that name and number of parameters in CUDA C. Where names are set, ones that differ are freed and
 * set to "": such a name is not known, whichever comes after. */
void param_names_in(const char *source, const char *function, int count, char **names);

#endif
