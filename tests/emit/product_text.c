/* Prints a random product of tiles: product_text NUMBER. Program N is made from the number N alone. */
#include "random_products.h"
#include "test_layout_random.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    char text[4096];
    if (argc != 2) {
        fprintf(stderr, "usage: product_text NUMBER\n");
        return 2;
    }
    uint64_t seed = (uint64_t)atoll(argv[1]) * 0x9e3779b97f4a7c15u;
    const bool bytes = random_below(&seed, 2);
    const int which = random_below(&seed, bytes ? PRODUCT_BYTES : PRODUCT_SINGLES);
    const struct product p =
        product_random(&seed, bytes ? &product_bytes[which] : &product_singles[which]);
    fputs(product_write(text, sizeof text, &p), stdout);
    return 0;
}
