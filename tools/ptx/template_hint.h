/* The line that instantiates a template of a CUDA C kernel, for a message. */
#ifndef TW_TEMPLATE_HINT_H
#define TW_TEMPLATE_HINT_H

/* Returns "template __global__ void scale<float>(float *x, float a, int n);" for the template of
 * kernel `name` in the text: types become float, integers 64. Returns a general form if the
 * template has other parameters. The caller frees. */
char *template_hint(const char *text, const char *name);

#endif
