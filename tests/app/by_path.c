/* Opens the driver by the path that the argument gives. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *driver = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*init)(unsigned), (*version)(int *), number = 0;
    if (!driver) {
        printf("%s\n", dlerror());
        return 3;
    }
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&version = dlsym(driver, "cuDriverGetVersion");
    if (init(0) || version(&number))
        return 4;
    printf("%d\n", number);
    return 0;
}
