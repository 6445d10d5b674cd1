/* Random tile programs, compiled for this machine's GPU, run on it, and compared with the CPU
 * engine.
 *
 *     gpu_random [-j PROCESSES] [-s FIRST] [COUNT]
 *
 * Program s is made from the number s alone, FIRST (1) to FIRST + COUNT - 1 (1000). A wrong one
 * is printed with its number and text; `gpu_random -j 0 -s 17 1` runs program 17 again. Four of
 * five are tile expressions (random_tiles.h), the others products of the matrix units
 * (random_products.h). */
#include "gpu_compare.h"

#include "random_products.h"
#include "random_tiles.h"
#include "test_layout_random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROGRAMS = 1000, SECONDS = 120, BYTES_FROM = 89, TEXT = 4096 };

static int first_seed = 1;
static char target[POOL_TARGET];

struct program {
    char text[TEXT];
    compare_element element;
    uint64_t seed; /* of its arrays */
};

static void write_product(struct program *p)
{
    bool bytes = atoi(target + strlen("sm_")) >= BYTES_FROM && random_below(&p->seed, 2);
    int which = random_below(&p->seed, bytes ? PRODUCT_BYTES : PRODUCT_SINGLES);
    struct product product =
        product_random(&p->seed, bytes ? &product_bytes[which] : &product_singles[which]);
    product_write(p->text, sizeof p->text, &product);
    p->element = product_number;
}

static void write_program(struct program *p, int item)
{
    uint64_t number = (uint64_t)(first_seed + item);
    p->seed = number * 0x9e3779b97f4a7c15ULL; /* neighbours have different seeds */
    if (number % 5 == 0) {
        write_product(p);
        return;
    }
    tile_kernel_random(p->text, sizeof p->text, &p->seed);
    p->element = tile_kernel_number;
}

static enum outcome compare(const struct program *p, tw_context *ctx, tw_kernel *host_kernel,
                            tw_kernel *gpu_kernel)
{
    struct compared c;
    tw_launch *host = NULL, *gpu = NULL;
    enum outcome outcome = OUTCOME_WRONG;
    if (tw_launch_new(host_kernel, &host) == TW_OK && tw_launch_new(gpu_kernel, &gpu) == TW_OK &&
        compared_open(&c, ctx, host_kernel, host, p->element, p->seed)) {
        outcome = compared_run(&c, ctx, gpu_kernel, gpu);
        compared_close(&c);
    }
    tw_launch_free(host);
    tw_launch_free(gpu);
    return outcome;
}

static enum outcome run(int item)
{
    static tw_context *ctx; /* of the process, because opening a GPU is slow */
    struct program p;
    tw_module *m;
    tw_kernel *gpu, *host;
    write_program(&p, item);
    if (!ctx &&
        tw_context_new(&(tw_config){.size = sizeof(tw_config), .threads = 1}, &ctx) != TW_OK)
        return OUTCOME_WRONG;
    enum outcome outcome = OUTCOME_WRONG;
    if (tw_module_from_text(ctx, "random.tile", p.text, strlen(p.text), &m) == TW_OK) {
        host = tw_module_kernel_at(m, 0);
        if (tw_kernel_for_target(host, target, &gpu) == TW_OK)
            outcome = compare(&p, ctx, host, gpu);
        tw_module_free(m);
    }
    if (outcome == OUTCOME_WRONG)
        printf("%s\n%s\n", tw_context_messages(ctx), p.text);
    return outcome;
}

static void print_name(int item)
{
    printf("program %d", first_seed + item);
}

int main(int argc, char **argv)
{
    int counts[OUTCOMES], option;
    struct pool pool = {.count = PROGRAMS,
                        .grain = 4,
                        .jobs = (int)sysconf(_SC_NPROCESSORS_ONLN),
                        .seconds = SECONDS,
                        .run = run,
                        .print_name = print_name};
    while ((option = getopt(argc, argv, "j:s:")) != -1)
        switch (option) {
        case 'j': pool.jobs = atoi(optarg); break;
        case 's': first_seed = atoi(optarg); break;
        default: return 2;
        }
    pool.count = optind < argc ? atoi(argv[optind]) : PROGRAMS;
    if (!pool_target(pool.jobs, target))
        return POOL_SKIPPED;
    printf("programs %d to %d for %s\n", first_seed, first_seed + pool.count - 1, target);
    pool_run(&pool, counts);
    return pool_verdict(counts, "random programs");
}
