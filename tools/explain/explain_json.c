/* Implements explain --json: writes all results; docs/explain.md describes each field. */
#include "explain/explained.h"

static void put_range(struct json *j, const char *key, tw_range r)
{
    json_open_numbers(j, key);
    json_real(j, r.low);
    json_real(j, r.middle);
    json_real(j, r.high);
    json_close(j, ']');
}

/* --- GPUs --- */

static void put_rates(struct json *j, const tw_gpu *g)
{
    json_put_real(j, "f64", g->f64);
    json_put_real(j, "f32", g->f32);
    json_put_real(j, "tensor_f64", g->tensor_f64);
    json_put_real(j, "tensor_tf32", g->tensor_tf32);
    json_put_real(j, "tensor_f16", g->tensor_f16);
    json_put_real(j, "tensor_i8", g->tensor_i8);
    json_put_real(j, "tensor_fp8", g->tensor_fp8);
    json_put_real(j, "memory_bytes", g->memory_bytes);
    json_put_real(j, "memory_bandwidth", g->memory_bandwidth);
    json_put_real(j, "l2_bytes", g->l2_bytes);
    put_range(j, "l2_bandwidth", g->l2_bandwidth);
    json_put_real(j, "shared_bandwidth", g->shared_bandwidth);
}

static void put_gpu(struct json *j, const tw_gpu *g)
{
    json_open(j, '{');
    json_put_text(j, "name", g->name);
    json_put_text(j, "aliases", g->aliases);
    json_put_text(j, "target", g->target);
    json_put_text(j, "memory", g->memory);
    json_put_text(j, "source", g->source);
    json_put_integer(j, "capability", g->capability);
    json_put_integer(j, "multiprocessors", g->multiprocessors);
    json_put_real(j, "clock", g->clock);
    json_put_real(j, "tensor_clock", g->tensor_clock);
    put_rates(j, g);
    json_put_integer(j, "l1_bytes", g->l1_bytes);
    json_put_integer(j, "shared_latency", g->shared_latency);
    json_put_integer(j, "l1_latency", g->l1_latency);
    json_put_integer(j, "l2_latency", g->l2_latency);
    json_put_integer(j, "memory_latency", g->memory_latency);
    json_put_integer(j, "shared_of_multiprocessor", g->shared_of_multiprocessor);
    json_put_integer(j, "shared_of_block", g->shared_of_block);
    json_put_integer(j, "system_shared_bytes", g->system_shared_bytes);
    json_put_integer(j, "registers", g->registers);
    json_put_integer(j, "registers_of_thread", g->registers_of_thread);
    json_put_integer(j, "threads", g->threads);
    json_put_integer(j, "warps", g->warps);
    json_put_integer(j, "blocks", g->blocks);
    json_put_integer(j, "threads_of_block", g->threads_of_block);
    json_close(j, '}');
}

static void put_ridge(struct json *j, const struct gpu_ridge *r, double intensity)
{
    double share = intensity < r->ridge ? intensity / r->ridge : 1;
    json_open(j, '{');
    json_put_text(j, "type", r->type);
    json_put_bool(j, "tensor", r->units[0] != '\0');
    json_put_integer(j, "element_bytes", r->bytes);
    json_put_real(j, "peak", r->peak);
    json_put_real(j, "ridge", r->ridge);
    json_put_real(j, "tile_edge", r->ridge * r->bytes);
    json_put_real(j, "tile_edge_4_bytes", r->ridge * 4);
    json_put_real(j, "allows", r->peak * share);
    json_put_real(j, "of_peak", share);
    json_close(j, '}');
}

void explain_gpu_json(const tw_gpu *g, const struct ridge_request *asked)
{
    struct json j = {.out = stdout};
    struct gpu_ridge r;
    json_open(&j, '{');
    json_key(&j, "gpu");
    put_gpu(&j, g);
    json_put_real(&j, "intensity", asked->intensity);
    json_open_list(&j, "ridges");
    for (int i = 0; explain_ridge_at(g, i, &r); i++)
        put_ridge(&j, &r, asked->intensity);
    if (asked->ridge > 0)
        put_ridge(&j, &(struct gpu_ridge){.units = "", .ridge = asked->ridge}, asked->intensity);
    json_close(&j, ']');
    json_close(&j, '}');
    json_end(&j);
}

void explain_gpu_list_json(void)
{
    struct json j = {.out = stdout};
    tw_gpu g = tw_gpu_init();
    json_open(&j, '[');
    for (int i = 0; tw_gpu_at(i, &g); i++)
        put_gpu(&j, &g);
    json_close(&j, ']');
    json_end(&j);
}

/* --- a kernel --- */

static void put_traffic(struct json *j, const tw_traffic *t)
{
    json_open(j, '{');
    json_put_text(j, "level", t->name);
    json_put_real(j, "by_thread", t->by_thread);
    json_put_real(j, "read_by_thread", t->read_by_thread);
    json_put_real(j, "written_by_thread", t->written_by_thread);
    json_put_real(j, "by_request", t->by_request);
    json_put_real(j, "read_by_request", t->read_by_request);
    json_put_real(j, "written_by_request", t->written_by_request);
    json_put_real(j, "read_by_element", t->read_by_element);
    json_put_real(j, "written_by_element", t->written_by_element);
    put_range(j, "moved", t->moved);
    put_range(j, "read", t->read);
    put_range(j, "written", t->written);
    json_put_real(j, "compulsory", t->compulsory);
    json_put_real(j, "intensity_by_thread", t->intensity_by_thread);
    json_put_real(j, "intensity_by_request", t->intensity_by_request);
    json_put_real(j, "intensity", t->intensity);
    json_close(j, '}');
}

static void put_way(struct json *j, const struct explain_way *w)
{
    json_open(j, '{');
    json_put_text(j, "way", w->name);
    json_put_text(j, "title", w->title);
    json_put_real(j, "read", w->read);
    json_put_real(j, "written", w->written);
    json_put_real(j, "bytes", w->bytes);
    json_put_real(j, "intensity", w->intensity);
    json_close(j, '}');
}

static void put_roof(struct json *j, const tw_roof *r)
{
    json_open(j, '{');
    json_put_text(j, "name", r->name);
    json_put_text(j, "title", r->title);
    json_put_text(j, "unit", r->unit);
    put_range(j, "work", r->work);
    json_put_real(j, "rate", r->rate);
    put_range(j, "seconds", r->seconds);
    json_put_real(j, "share", r->share);
    json_put_real(j, "flops", r->flops);
    json_close(j, '}');
}

/* Returns the bytes that the lanes access, counting each byte once. */
static int64_t distinct_bytes(const tw_explained_access *a)
{
    int64_t seen[32], count = 0;
    for (int lane = 0; lane < 32; lane++) {
        bool again = false;
        for (int64_t i = 0; i < count; i++)
            again = again || seen[i] == a->lanes.address[lane];
        if (a->lanes.mask >> lane & 1 && !again)
            seen[count++] = a->lanes.address[lane];
    }
    return count * a->bytes; /* addresses are multiples of the width */
}

static void put_lanes(struct json *j, const tw_explained_access *a)
{
    const tw_explained_request *r = &a->lanes;
    json_open_object(j, "lanes");
    json_put_text(j, "array", r->array);
    json_put_integer(j, "block", r->block);
    json_put_integer(j, "warp", r->warp);
    json_put_integer(j, "mask", r->mask);
    json_open_numbers(j, "addresses");
    for (int lane = 0; lane < 32; lane++)
        json_integer(j, r->mask >> lane & 1 ? r->address[lane] : -1);
    json_close(j, ']');
    json_open_numbers(j, "wavefront_of");
    for (int lane = 0; lane < 32 && a->shared; lane++)
        json_integer(j, r->wavefront[lane]);
    json_close(j, ']');
    json_put_integer(j, "bytes_used", distinct_bytes(a));
    json_put_real(j, a->shared ? "wavefronts" : "sectors", r->units);
    json_put_real(j, a->shared ? "wavefronts_ideal" : "sectors_ideal", r->units_ideal);
    json_close(j, '}');
}

static void put_access(struct json *j, const tw_explained_access *a, const char *atomic,
                       double as_written)
{
    json_open(j, '{');
    json_put_text(j, "file", a->file);
    json_put_integer(j, "line", a->line);
    json_put_integer(j, "column", a->column);
    json_put_text(j, "space", a->shared ? "shared" : "global");
    json_put_bool(j, "store", a->store);
    json_put_text(j, "atomic", atomic);
    json_put_bool(j, "copy", a->copy);
    json_put_integer(j, "bytes", a->bytes);
    json_put_real(j, "requests", a->requests);
    json_put_real(j, a->shared ? "wavefronts" : "sectors", a->units);
    json_put_real(j, a->shared ? "wavefronts_ideal" : "sectors_ideal", a->units_ideal);
    json_put_real(j, "ways", a->ways);
    json_put_real(j, "ways_by_element", a->ways_by_element);
    json_put_real(j, "ways_as_written", as_written);
    put_lanes(j, a);
    json_close(j, '}');
}

static void put_line(struct json *j, const tw_explained_line *l)
{
    json_open(j, '{');
    json_put_text(j, "file", l->file);
    json_put_integer(j, "line", l->line);
    json_put_real(j, "instructions", l->instructions);
    json_put_real(j, "shared_accesses", l->shared_accesses);
    json_put_real(j, "shared_wavefronts", l->shared_wavefronts);
    json_put_real(j, "shared_wavefronts_ideal", l->shared_wavefronts_ideal);
    json_put_real(j, "conflict_ways", l->conflict_ways);
    json_put_real(j, "requests", l->requests);
    json_put_real(j, "sectors", l->sectors);
    json_put_real(j, "sectors_ideal", l->sectors_ideal);
    json_put_real(j, "by_thread", l->by_thread);
    json_close(j, '}');
}

static void put_choice(struct json *j, const struct explain_row *r, bool tuned)
{
    tw_param p = tw_param_init();
    tw_tune t = tw_tune_init();
    tw_value v;
    json_open_object(j, tuned ? "tune" : "set");
    for (int i = 0; tuned ? tw_kernel_tune(r->kernel, i, &t) == TW_OK
                          : tw_kernel_param(r->kernel, i, &p) == TW_OK;
         i++) {
        const char *name = tuned ? t.name : p.name;
        if (tw_launch_value(r->launch, name, &v) != TW_OK)
            continue;
        if (v.kind == TW_FLOAT)
            json_put_real(j, name, v.f);
        else
            json_put_integer(j, name, v.i);
    }
    json_close(j, '}');
}

static void put_launch(struct json *j, const tw_explanation *e)
{
    json_put_bool(j, "launches", e->launches);
    json_put_text(j, "why_not", e->why_not);
    json_put_integers(j, "grid", 3, e->grid);
    json_put_axes(j, "block", e->block[0], e->block[1], e->block[2]);
    json_put_integer(j, "blocks", e->blocks);
    json_put_integer(j, "threads", e->threads);
    json_put_integer(j, "shared_bytes", e->shared_bytes);
    json_put_integer(j, "registers", e->registers);
    json_put_bool(j, "registers_known", e->registers_known);
    json_put_integer(j, "resident_blocks", e->resident_blocks);
    json_put_integer(j, "resident_warps", e->resident_warps);
    json_put_real(j, "occupancy", e->occupancy);
    json_put_text(j, "limiter", e->limiter);
    json_put_integer(j, "blocks_by_registers", e->blocks_by_registers);
    json_put_integer(j, "blocks_by_shared", e->blocks_by_shared);
    json_put_integer(j, "blocks_by_threads", e->blocks_by_threads);
    json_put_integer(j, "blocks_by_limit", e->blocks_by_limit);
    json_put_real(j, "waves", e->waves);
    json_put_real(j, "wave_efficiency", e->wave_efficiency);
    json_put_real(j, "last_wave", explain_last_wave(e));
}

static void put_lists(struct json *j, const struct explain_row *r)
{
    const tw_explanation *e = &r->e;
    json_open_list(j, "traffic");
    for (int i = 0; i < TW_TRAFFIC_COUNT; i++)
        if (e->traffic[i].name)
            put_traffic(j, &e->traffic[i]);
    json_close(j, ']');
    json_open_list(j, "ways");
    struct explain_way ways[EXPLAIN_WAYS];
    int way_count = explain_ways(e, ways);
    for (int i = 0; i < way_count; i++)
        put_way(j, &ways[i]);
    json_close(j, ']');
    json_open_list(j, "roofs");
    for (int i = 0; i < e->roof_count; i++)
        put_roof(j, &e->roofs[i]);
    json_close(j, ']');
    json_open_list(j, "accesses");
    for (int i = 0; i < e->access_count; i++)
        put_access(j, &e->accesses[i], e->atomics[i], e->ways_as_written[i]);
    json_close(j, ']');
    json_open_list(j, "lines");
    for (int i = 0; i < e->line_count; i++)
        put_line(j, &e->lines[i]);
    json_close(j, ']');
    json_open_list(j, "notes");
    for (int i = 0; i < e->note_count; i++)
        json_string(j, e->notes[i]);
    json_close(j, ']');
}

static void put_row(struct json *j, const struct explain_row *r)
{
    const tw_explanation *e = &r->e;
    json_open(j, '{');
    json_put_text(j, "name", r->name);
    json_put_text(j, "kernel", r->kernel ? tw_kernel_name(r->kernel) : e->kernel);
    json_put_text(j, "file", r->program.path);
    chosen_json(&r->chosen, j);
    put_choice(j, r, false);
    put_choice(j, r, true);
    put_launch(j, e);
    json_put_real(j, "flops", e->flops);
    json_put_real(j, "flops_executed", e->flops_executed);
    json_put_real(j, "peak", explain_peak(r));
    json_put_real(j, "l1_hit_rate", e->l1_hit_rate);
    json_put_real(j, "l2_hit_rate", e->l2_hit_rate);
    json_put_real(j, "shared_wavefronts", e->shared_wavefronts);
    json_put_real(j, "shared_wavefronts_ideal", e->shared_wavefronts_ideal);
    json_put_real(j, "copy_wavefronts", e->copy_wavefronts);
    json_put_real(j, "copy_wavefronts_ideal", e->copy_wavefronts_ideal);
    json_put_real(j, "wavefronts_as_written", e->wavefronts_as_written);
    json_put_real(j, "wavefronts_ideal_as_written", e->wavefronts_ideal_as_written);
    put_lists(j, r);
    json_put_text(j, "bound", e->bound);
    json_put_text(j, "bound_title", e->bound_title);
    put_range(j, "seconds", e->seconds);
    put_range(j, "flops_per_second", explain_speed(e));
    json_key(j, "measured_seconds");
    if (r->measured > 0)
        json_real(j, r->measured);
    else
        json_string(j, NULL);
    json_put_text(j, "verdict", e->launches ? e->verdict : e->why_not);
    json_put_text(j, "advice", e->advice);
    json_put_integer(j, "sampled_blocks", e->sampled_blocks);
    json_put_integer(j, "sampled_instructions", e->sampled_instructions);
    json_close(j, '}');
}

void explain_json(const struct explain *x)
{
    struct json j = {.out = stdout};
    json_open(&j, '{');
    complaints_json(&x->complaints, &j);
    json_key(&j, "gpu");
    put_gpu(&j, &x->gpu);
    if (x->measures) {
        json_put_text(&j, "measured_on", x->measured_on ? x->measured_on : x->gpu.name);
        json_put_text(&j, "not_measured", x->not_measured);
    }
    json_open_list(&j, "kernels");
    for (int i = 0; i < x->row_count; i++)
        put_row(&j, &x->rows[i]);
    json_close(&j, ']');
    json_close(&j, '}');
    json_end(&j);
}
