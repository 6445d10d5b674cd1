/* Images (cpu/image.h) have no padding: the rows of image_gaps.def are the padding that the
 * compiler gives the structs. */
#include "cpu/image.h"

#include "cpu/atomic_ops.h"
#include "cpu/routines/lane_product.h"
#include "cpu/strips.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define KNOWS_PADDING
#endif
#endif

#if defined(KNOWS_PADDING)
/* Returns whether the byte is in a member that is a struct with rows of its own, or comes after an
 * array of such structs: gcc 12 clears the wrong bytes from such an array on. */
static bool is_unknown(enum image_struct of, size_t byte)
{
    static const struct {
        int count;
    } none_known, *const x = &none_known;
    const struct {
        enum image_struct of;
        size_t at, bytes;
        bool is_array;
    } inside[] = {
#define INSIDE(type, member, target, n)                                                            \
    {IMAGE_##type, offsetof(struct type, member), (size_t)(n) * sizeof(struct target), (n) > 1},
#include "cpu/image_fields.h"
    };
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (inside[i].of == of && byte >= inside[i].at &&
            (inside[i].is_array || byte - inside[i].at < inside[i].bytes))
            return true;
    return false;
}

static void expect_padding(const char *name, enum image_struct of, unsigned char *ours,
                           const unsigned char *compilers, size_t bytes)
{
    image_clear_padding(of, ours, ours);
    for (size_t i = 0; i < bytes; i++)
        if (ours[i] != compilers[i] && !is_unknown(of, i))
            fail_msg("struct %s: byte %zu is %s", name, i,
                     ours[i] ? "padding, which no row names" : "no padding, but a row names it");
}
#endif

static void rows_are_the_padding(void **state)
{
    (void)state;
#if defined(KNOWS_PADDING)
#define STRUCT(type, bytes)                                                                        \
    {                                                                                              \
        static struct type ours, compilers;                                                        \
        memset(&ours, 0xff, sizeof ours);                                                          \
        memset(&compilers, 0xff, sizeof compilers);                                                \
        __builtin_clear_padding(&compilers);                                                       \
        expect_padding(#type, IMAGE_##type, (unsigned char *)&ours,                                \
                       (const unsigned char *)&compilers, sizeof ours);                            \
    }
#define OPEN(type, member) /* the builtin does not take them */
#include "cpu/image_fields.h"
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
