#include "doing.h"

#include <stddef.h>

static const char *volatile present, *volatile object;

void doing(const char *what, const char *of)
{
    present = NULL;
    object = of;
    present = what;
}

const char *doing_what(void)
{
    return present;
}

const char *doing_of(void)
{
    return object;
}
