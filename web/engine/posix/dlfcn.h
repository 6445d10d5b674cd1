/* Shared libraries: there are none. */
#ifndef TW_POSIX_DLFCN_H
#define TW_POSIX_DLFCN_H

enum { RTLD_NOW = 2, RTLD_LOCAL = 0 };

typedef struct {
    const char *dli_fname;
} Dl_info;

void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);
int dladdr(const void *address, Dl_info *out);
int dlclose(void *library);
char *dlerror(void);

#endif
