/* Prints a random program of tiles: random_text products|tiles NUMBER. Program N is made from the number N alone. */
#include "random_products.h"
#include "random_tiles.h"
#include "test_layout_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *write_product(char *text, size_t size, uint64_t *seed)
{
    const bool bytes = random_below(seed, 2);
    const int which = random_below(seed, bytes ? PRODUCT_BYTES : PRODUCT_SINGLES);
    const struct product p =
        product_random(seed, bytes ? &product_bytes[which] : &product_singles[which]);
    return product_write(text, size, &p);
}

int main(int argc, char **argv)
{
    char text[4096];
    const bool products = argc == 3 && strcmp(argv[1], "products") == 0;
    if (argc != 3 || (!products && strcmp(argv[1], "tiles") != 0)) {
        fprintf(stderr, "usage: random_text products|tiles NUMBER\n");
        return 2;
    }
    uint64_t seed = (uint64_t)atoll(argv[2]) * 0x9e3779b97f4a7c15u;
    fputs(products ? write_product(text, sizeof text, &seed)
                   : tile_kernel_random(text, sizeof text, &seed),
          stdout);
    return 0;
}
