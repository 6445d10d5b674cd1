/* --trace FOLDER: `calls` has a line for each call that works on the device; module_N.ptx is the PTX
 * of each module; `launches` has, for each launch, the command that repeats it without the program,
 * with the memory of its arguments in files of NumPy. */
#include "driver/driver.h"

#include "base/platform.h"
#include "driver/driver_order.h"
#include "sim/sim_own.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static struct {
    FILE *calls, *launches;
    int modules;
} trace;

static FILE *open_in(const char *name)
{
    const char *folder = driver.settings.trace;
    return folder ? fopen(arena_printf(&driver.arena, "%s/%s", folder, name), "w") : NULL;
}

void driver_trace_open(void)
{
    const char *why = NULL;
    if (!driver.settings.trace)
        return;
    if (!platform_is_folder(driver.settings.trace))
        platform_make_folder(&driver.arena, driver.settings.trace, &why);
    errno = 0;
    trace.calls = open_in("calls");
    trace.launches = trace.calls ? open_in("launches") : NULL;
    if (!trace.launches)
        driver_report_without_place("trace", true,
                                    arena_printf(&driver.arena, "%s cannot be written: %s",
                                                 driver.settings.trace,
                                                 why ? why : strerror(errno)));
}

static int add_place(void *user)
{
    const struct driver_site *site = user;
    fprintf(trace.calls, " at %s", driver_site_text(site, NULL));
    return DRIVER_SUCCESS;
}

void driver_trace(const char *format, ...)
{
    struct driver_site site;
    va_list args;
    if (!trace.calls)
        return;
    driver_site_here(&site);
    va_start(args, format);
    fprintf(trace.calls, "%s ", driver_call_name());
    vfprintf(trace.calls, format, args);
    va_end(args);
    driver_guard(add_place, &site); /* without memory, the line has no place */
    fputc('\n', trace.calls);
    fflush(trace.calls);
}

void driver_trace_module(struct driver_module *m)
{
    if (!trace.calls)
        return;
    const char *name = arena_printf(&driver.arena, "module_%d.ptx", ++trace.modules);
    FILE *out = open_in(name);
    if (out) {
        fwrite(m->source.text, 1, m->source.length, out);
        fclose(out);
    }
    m->traced_as = name;
    driver_trace("%s", name);
}

/* --- the arguments of a launch --- */

/* Memory that an argument of the launch points to; later pointers into it name that argument. */
struct passed {
    const struct driver_memory *memory;
    uint64_t from; /* the first byte that is in the file */
    size_t argument;
};

struct arguments {
    struct text *out;
    int64_t launch;
    VEC(struct passed) passed;
    size_t argument; /* the current one */
    int files;
};

/* Writes bytes as an array of NumPy (its format 1.0). */
static void write_array(const char *name, const void *data, size_t bytes)
{
    enum { ALIGNMENT = 64, PREFIX = 10 };
    FILE *out = open_in(name);
    char header[2 * ALIGNMENT];
    int length = snprintf(header, sizeof header,
                          "{'descr': '|u1', 'fortran_order': False, 'shape': (%zu,), }", bytes);
    int padded = (PREFIX + length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - PREFIX;
    if (!out)
        return;
    fwrite("\x93NUMPY\x01\x00", 1, 8, out);
    fputc(padded & 0xff, out);
    fputc(padded >> 8, out);
    fprintf(out, "%s%*s\n", header, padded - length - 1, "");
    fwrite(data, 1, bytes, out);
    fclose(out);
}

/* Adds a pointer as an array: in full from its byte on, or as a part of an earlier argument. */
static void add_pointer(struct arguments *a, const struct driver_memory *m, uint64_t address)
{
    for (size_t i = 0; i < a->passed.count; i++) {
        const struct passed *p = &a->passed.data[i];
        if (p->memory != m || address < p->from || p->argument == a->argument)
            continue;
        text_printf(a->out, "=%zu", p->argument);
        if (address > p->from)
            text_printf(a->out, "+%llu", (unsigned long long)(address - p->from));
        return;
    }
    size_t bytes = m->bytes - (size_t)(address - m->address);
    const char *name =
        arena_printf(&driver.arena, "launch_%lld_%d.npy", (long long)a->launch, ++a->files);
    write_array(name, sim_bytes(driver_machine(), address, bytes), bytes);
    text_printf(a->out, "u8[%zu]:@%s", bytes, name);
    vec_push(&driver.arena, &a->passed, ((struct passed){m, address, a->argument}));
}

/* Returns the live memory that a value of 8 bytes points into; NULL: it is no such pointer. */
static const struct driver_memory *pointed_to(const unsigned char *value, uint64_t *address)
{
    memcpy(address, value, sizeof *address);
    const struct driver_memory *m = driver_memory_at(*address);
    return m && !m->freed_by && *address - m->address < m->bytes ? m : NULL;
}

static void add_number(struct arguments *a, const unsigned char *value, size_t bytes)
{
    uint64_t number = 0;
    memcpy(&number, value, bytes);
    text_printf(a->out, "u%zu:%llu", 8 * bytes, (unsigned long long)number);
}

static bool is_float(const struct ptx_variable *v)
{
    return v->type == MOD_F32 || v->type == MOD_F64;
}

/* Adds a number with as many digits as give the same bits again. An infinity and a NaN are bytes,
 * because a NaN written as a word loses its other bits. */
static void add_float(struct arguments *a, uint16_t type, const unsigned char *value)
{
    float single;
    double number;
    size_t size = type == MOD_F32 ? sizeof single : sizeof number;
    memcpy(&single, value, sizeof single);
    if (type == MOD_F32)
        number = (double)single;
    else
        memcpy(&number, value, sizeof number);
    if (isfinite(number)) {
        text_printf(a->out, "f%zu:%.*g", 8 * size, type == MOD_F32 ? 9 : 17, number);
        return;
    }
    text_add(a->out, "bytes:");
    for (size_t i = 0; i < size; i++)
        text_printf(a->out, "%02x", value[i]);
}

/* Adds the fields of a struct: pointers, and integers for all else. */
static void add_struct(struct arguments *a, const unsigned char *value, size_t size)
{
    uint64_t address;
    text_add(a->out, "{");
    for (size_t at = 0, step, field = 0; at < size; at += step, field++) {
        const struct driver_memory *m =
            at % 8 == 0 && size - at >= 8 ? pointed_to(value + at, &address) : NULL;
        step = m ? 8 : at % 4 == 0 && size - at >= 4 ? 4 : 1;
        text_printf(a->out, "%sf%zu=", field ? ", " : "", field);
        if (m)
            add_pointer(a, m, address);
        else
            add_number(a, value + at, step);
    }
    text_add(a->out, "}");
}

static void add_argument(struct arguments *a, const struct ptx_variable *v,
                         const unsigned char *value)
{
    size_t size = (size_t)ptx_variable_size(v);
    uint64_t address;
    const struct driver_memory *m = size == 8 ? pointed_to(value, &address) : NULL;
    text_add(a->out, " --arg '");
    if (is_float(v))
        add_float(a, v->type, value);
    else if (m)
        add_pointer(a, m, address);
    else if (size == 1 || size == 2 || size == 4 || size == 8)
        add_number(a, value, size);
    else
        add_struct(a, value, size);
    text_add(a->out, "'");
}

void driver_trace_launch(const struct driver_launched *l)
{
    const struct sim_launch *a = &l->launch;
    const struct ptx_function *f = l->kernel->function;
    struct text line;
    struct arguments arguments = {.out = &line, .launch = l->number};
    if (!trace.launches || !trace.calls)
        return;
    text_init(&line, &driver.arena);
    text_printf(&line, "tilewright check %s --kernel '%s' --grid %u,%u,%u --block %u,%u,%u",
                l->kernel->from->traced_as, f->name, a->grid[0], a->grid[1], a->grid[2],
                a->block[0], a->block[1], a->block[2]);
    if (a->dynamic_shared)
        text_printf(&line, " --shared %lld", (long long)a->dynamic_shared);
    if (a->cluster[0] * a->cluster[1] * a->cluster[2] > 1)
        text_printf(&line, " --cluster %u,%u,%u", a->cluster[0], a->cluster[1], a->cluster[2]);
    if (l->cooperative)
        text_add(&line, " --cooperative");
    for (size_t i = 0; i < f->signature.parameters.count; i++) {
        arguments.argument = i;
        add_argument(&arguments, f->signature.parameters.data[i], a->arguments[i]);
    }
    const char *about =
        arena_printf(&driver.arena, "launch %lld of %s, stream %d, at %s", (long long)l->number,
                     l->kernel->shown, l->stream->number, driver_site_text(&l->site, f->name));
    fprintf(trace.launches, "# %s\n%s\n", about, line.data);
    fflush(trace.launches);
    fprintf(trace.calls, "%s\n", about);
    fflush(trace.calls);
}
