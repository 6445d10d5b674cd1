/* Runs tests one after the other; a failure in a test or its fixture jumps back to here. */
#include "cmocka.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

enum { PASSED, FAILED, SKIPPED };

static jmp_buf next;

void cross_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    longjmp(next, FAILED);
}

void cross_skip(void)
{
    longjmp(next, SKIPPED);
}

void cross_int(const char *file, int line, uintmax_t a, uintmax_t b, bool equal)
{
    if ((a == b) != equal)
        cross_fail(file, line, "%jd %s %jd", (intmax_t)a, equal ? "!=" : "==", (intmax_t)b);
}

void cross_string(const char *file, int line, const char *a, const char *b, bool equal)
{
    if ((strcmp(a, b) == 0) != equal)
        cross_fail(file, line, "\"%s\" %s \"%s\"", a, equal ? "!=" : "==", b);
}

void cross_memory(const char *file, int line, const void *a, const void *b, size_t n, bool equal)
{
    if ((memcmp(a, b, n) == 0) != equal)
        cross_fail(file, line, "%zu bytes are %s", n, equal ? "not the same" : "the same");
}

/* Runs a fixture or a test; tells how it ends, by its own return or by a jump. */
static int attempt(int (*fixture)(void **state), void (*test)(void **state), void **state)
{
    switch (setjmp(next)) {
    case 0:
        if (test)
            test(state);
        return fixture && fixture(state) != 0 ? FAILED : PASSED;
    case SKIPPED: return SKIPPED;
    default: return FAILED;
    }
}

static int run_one(const struct CMUnitTest *test, void *state)
{
    static const char *const words[] = {"passed", "failed", "skipped"};
    int end = attempt(test->setup, NULL, &state);
    if (end == PASSED)
        end = attempt(NULL, test->test, &state);
    if (attempt(test->teardown, NULL, &state) != PASSED)
        end = FAILED;
    printf("%s: %s\n", test->name, words[end]);
    return end;
}

int cross_run(const struct CMUnitTest *tests, size_t count, int (*setup)(void **state),
              int (*teardown)(void **state))
{
    void *state = NULL;
    int failed = 0;
    if (attempt(setup, NULL, &state) != PASSED)
        return 1;
    for (size_t i = 0; i < count; i++)
        failed += run_one(&tests[i], state) == FAILED;
    failed += attempt(teardown, NULL, &state) != PASSED;
    return failed;
}
