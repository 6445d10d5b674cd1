/* Implements explain --device GPU: shows a GPU's roofline without any kernel. */
#include "explain/explained.h"
#include "cli/figures.h"
#include "cli/table.h"

#include <string.h>

bool explain_ridge_at(const tw_gpu *g, int index, struct gpu_ridge *out)
{
    const struct gpu_ridge all[] = {
        {"f64", "", 8, g->f64, 0},
        {"f64", "tensor", 8, g->tensor_f64, 0},
        {"f32", "", 4, g->f32, 0},
        {"tf32", "tensor", 4, g->tensor_tf32, 0},
        {"f16, bf16", "tensor", 2, g->tensor_f16, 0},
        {"e4m3, e5m2", "tensor", 1, g->tensor_fp8, 0},
        {"i8, u8", "tensor", 1, g->tensor_i8, 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!(all[i].peak > 0) || index-- > 0)
            continue;
        *out = all[i];
        out->peak = three_digits(out->peak);
        out->ridge = out->peak / three_digits(g->memory_bandwidth);
        return true;
    }
    return false;
}

static struct figure memory_text(const tw_gpu *g)
{
    struct figure f;
    snprintf(f.text, sizeof f.text, "%g GB", g->memory_bytes * 1e-9);
    return f;
}

static void show_parts(const tw_gpu *g)
{
    printf("%s: %d multiprocessors at %s, %s\n", g->name, g->multiprocessors,
           figure_unit(g->clock, "Hz").text, g->target);
    printf("  memory     %s of %s, %s; a load takes %d cycles\n", memory_text(g).text, g->memory,
           figure_unit(g->memory_bandwidth, "B/s").text, g->memory_latency);
    printf(
        "  L2         %s, %s as designed, the rate of its roof; in practice %s to %s; %d cycles\n",
        figure_mib(g->l2_bytes).text, figure_unit(g->l2_bandwidth.high, "B/s").text,
        figure_unit(g->l2_bandwidth.low, "B/s").text,
        figure_unit(g->l2_bandwidth.middle, "B/s").text, g->l2_latency);
    printf("  L1         %s of a multiprocessor, shared memory included; %d cycles\n",
           figure_kib(g->l1_bytes).text, g->l1_latency);
    printf("  shared     %s of a multiprocessor, %s of a block, %s in all; %d cycles\n",
           figure_kib(g->shared_of_multiprocessor).text, figure_kib(g->shared_of_block).text,
           figure_unit(g->shared_bandwidth, "B/s").text, g->shared_latency);
    printf("  registers  %d of a multiprocessor, %d of a thread\n", g->registers,
           g->registers_of_thread);
    printf("  threads    %d of a block; %d (%d warps) and %d blocks of a multiprocessor\n",
           g->threads_of_block, g->threads, g->warps, g->blocks);
    printf("  source     %s\n", g->source);
}

static void add_edges(struct cells *c, double ridge)
{
    static const struct {
        const char *title;
        int bytes;
    } operands[] = {{"T, 8 bytes", 8}, {"4 bytes", 4}, {"2 bytes", 2}, {"1 byte", 1}};
    char text[32];
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        snprintf(text, sizeof text, "%.0f", ridge * operands[i].bytes);
        cells_add(c, operands[i].title, 7, false, text);
    }
}

static double reached(double ridge, double intensity)
{
    return intensity < ridge ? intensity / ridge : 1;
}

static void fill_row(struct cells *c, const struct gpu_ridge *r, double intensity)
{
    *c = (struct cells){0};
    cells_add(c, "type", 10, true, r->type);
    cells_add(c, "units", 6, true, r->units);
    cells_add(c, "peak", 13, false, r->peak > 0 ? figure_unit(r->peak, "FLOP/s").text : "");
    cells_add(c, "ridge", 6, false, figure_plain(r->ridge).text);
    add_edges(c, r->ridge);
    double share = reached(r->ridge, intensity);
    cells_add(c, "allows", 13, false,
              r->peak > 0 ? figure_unit(r->peak * share, "FLOP/s").text : "");
    cells_add(c, "of peak", 8, false, figure_percent(share).text);
}

void explain_gpu_alone(const tw_gpu *g, const struct ridge_request *asked)
{
    struct cells c;
    struct gpu_ridge r;
    show_parts(g);
    printf("\nThe roofline of its memory: a kernel of fewer FLOPs a byte than the ridge, peak over "
           "%s, is bound by memory.\n"
           "T: the edge from which a product of T×T tiles, T/bytes FLOP/B, reaches the ridge, by "
           "the bytes of an operand's element.\n"
           "allows: what memory allows at %s FLOP/B%s, if there were no caches.\n\n",
           figure_unit(g->memory_bandwidth, "B/s").text, figure_plain(asked->intensity).text,
           asked->intensity == 0.25 ? ", the f32 product with a thread an element and no tiles"
                                    : "");
    for (int i = 0; explain_ridge_at(g, i, &r); i++) {
        fill_row(&c, &r, asked->intensity);
        if (i == 0)
            cells_header(stdout, &c);
        cells_row(stdout, &c);
    }
    if (asked->ridge > 0) {
        fill_row(&c, &(struct gpu_ridge){.type = "--ridge", .units = "", .ridge = asked->ridge},
                 asked->intensity);
        cells_row(stdout, &c);
    }
}

void explain_gpu_list(void)
{
    tw_gpu g = tw_gpu_init();
    for (int i = 0; tw_gpu_at(i, &g); i++) {
        struct cells c = {0};
        cells_add(&c, "GPU", 16, true, g.name);
        cells_add(&c, "target", 7, true, g.target);
        cells_add_number(&c, "SMs", 4, 0, g.multiprocessors);
        cells_add(&c, "clock", 9, false, figure_unit(g.clock, "Hz").text);
        cells_add(&c, "f32", 13, false, figure_unit(g.f32, "FLOP/s").text);
        cells_add(&c, "f16 tensor", 13, false, figure_unit(g.tensor_f16, "FLOP/s").text);
        cells_add(&c, "memory", 8, false, memory_text(&g).text);
        cells_add(&c, "bandwidth", 9, false, figure_unit(g.memory_bandwidth, "B/s").text);
        cells_add(&c, "L2", 7, false, figure_mib(g.l2_bytes).text);
        cells_add(&c, "other names", 11, true, g.aliases);
        if (i == 0)
            cells_header(stdout, &c);
        cells_row(stdout, &c);
    }
}
