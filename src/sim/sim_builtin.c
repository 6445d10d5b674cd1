/* Functions that CUDA gives every program (vprintf, malloc, free, __assertfail), and the
 * functions that a program calls if its claims are false (tile/claims.h). */
#include "sim/sim_machine.h"

#include <inttypes.h>
#include <string.h>

/* --- vprintf --- */

struct printing {
    struct sim_warp *w;
    int lane;
    uint64_t arguments; /* address of the next argument */
    bool bad;
};

static uint64_t next_argument(struct printing *p, unsigned bytes)
{
    enum sim_space space;
    uint64_t told, value = 0;
    p->arguments = (p->arguments + bytes - 1) / bytes * bytes;
    const uint8_t *host =
        sim_resolve(p->w, p->lane, SIM_IN_GENERIC, p->arguments, bytes, &space, &told);
    if (host)
        memcpy(&value, host, bytes);
    p->bad = p->bad || !host;
    p->arguments += bytes;
    return value;
}

/* Prints one conversion: `spec` has its flags, width and precision; `size` and `kind` have the
 * rest. */
static void convert(struct printing *p, struct text *out, char spec[32], int size, char kind)
{
    char *end = spec + strlen(spec);
    uint64_t bits;
    double value;
    const char *string;
    switch (kind) {
    case 'd':
    case 'i':
        bits = next_argument(p, size == 8 ? 8 : 4);
        memcpy(end, PRId64, sizeof PRId64);
        text_printf(out, spec,
                    size == 8   ? (int64_t)bits
                    : size == 4 ? (int64_t)(int32_t)bits
                    : size == 2 ? (int64_t)(int16_t)bits
                                : (int64_t)(int8_t)bits);
        return;
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        bits = next_argument(p, size == 8 ? 8 : 4);
        bits = size == 8   ? bits
               : size == 4 ? (uint32_t)bits
               : size == 2 ? (uint16_t)bits
                           : (uint8_t)bits;
        memcpy(end, PRIu64, sizeof PRIu64);
        end[strlen(end) - 1] = kind;
        text_printf(out, spec, bits);
        return;
    case 'c':
        memcpy(end, "c", 2);
        text_printf(out, spec, (int)next_argument(p, 4));
        return;
    case 'p':
        bits = next_argument(p, 8);
        text_printf(out, "0x%" PRIx64, bits);
        return;
    case 's':
        bits = next_argument(p, 8);
        string = bits ? sim_text_at(p->w, p->lane, bits) : "(null)";
        p->bad = p->bad || !string;
        memcpy(end, "s", 2);
        text_printf(out, spec, string ? string : "");
        return;
    default:
        bits = next_argument(p, 8);
        memcpy(&value, &bits, sizeof value);
        end[0] = kind;
        end[1] = 0;
        text_printf(out, spec, value);
    }
}

enum { MOST_PRINTED = 64 << 20 }; /* in a launch */

/* Prints a conversion that begins at `%`. Returns the number of characters of the format that it
 * took; 0: not a conversion. */
static size_t print_conversion(struct printing *p, struct text *out, const char *format)
{
    char spec[32] = "%";
    size_t i = 1, length = 1;
    int size = 4;
    while (format[i] && strchr("-+ #0123456789.", format[i]) && length < 16)
        spec[length++] = format[i++];
    for (; format[i] && strchr("hlzjt", format[i]); i++)
        size = format[i] == 'h' ? size / 2 : 8;
    if (!format[i] || !strchr("diuxXocspeEfFgGaA", format[i]) || size == 0)
        return 0;
    convert(p, out, spec, size, format[i]);
    return i + 1;
}

static bool print_lane(struct sim_warp *w, const struct sim_op *op, int lane)
{
    struct printing p = {.w = w, .lane = lane, .arguments = sim_argument(w, op, 1, lane)};
    struct text *out = &w->sim->output;
    const char *format = sim_text_at(w, lane, sim_argument(w, op, 0, lane));
    int count = 0;
    if (!format)
        return sim_no_address(w, op, lane, "vprintf's format is not a text in memory");
    for (size_t i = 0; format[i] && out->length <= MOST_PRINTED;) {
        size_t took = 0;
        if (format[i] == '%' && format[i + 1] != '%') {
            took = print_conversion(&p, out, format + i);
            count += took > 0;
        } else {
            i += format[i] == '%';
        }
        if (!took)
            text_add_char(out, format[i]);
        i += took ? took : 1;
    }
    if (p.bad && !sim_no_address(w, op, lane, "an argument of vprintf is outside memory"))
        return false;
    if (out->length > MOST_PRINTED)
        return sim_stop(w, op, "vprintf printed more than %d bytes", MOST_PRINTED);
    sim_give_result(w, op, lane, (uint64_t)count);
    return true;
}

static bool run_vprintf(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (sim_argument_count(op) != 2)
        return sim_stop(w, op, "vprintf takes two arguments");
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        if (!print_lane(w, op, __builtin_ctz(rest)))
            return false;
    return true;
}

/* --- the heap --- */

/* Memory that is freed is kept until the launch ends, so that its use is found; MOST_KEPT limits it. */
enum { MOST_KEPT = 1 << 30, LEAST_KEPT = 1024 };

static uint64_t heap_share(uint64_t bytes)
{
    return (bytes + 15) / 16 * 16 + 16;
}

/* Tells the checks of memory from malloc, which is not initialised. If they do not hear of this block,
 * they do not hear what it writes, so its memory counts as initialised. */
static void tell_malloc(const struct sim_warp *w, uint64_t number)
{
    struct sim *sim = w->sim;
    struct sim_allocation *a = &sim->allocations.data[number];
    const struct sim_allocation_event event = {.space = SIM_GLOBAL,
                                               .address = sim_address_of(number, 0),
                                               .bytes = a->size,
                                               .name = a->name,
                                               .structs = true};
    a->structs = true;
    a->initialised = !w->observed || w->block->unheard;
    if (a->initialised)
        return;
    sim_settle(sim);
    for (struct sim_observer *o = sim->observers; o; o = o->next)
        if (o->allocated && o->wrote && (!o->only || sim_hears(o, w)))
            o->allocated(o->user, &event);
    a->told = true;
}

static bool run_malloc(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    struct sim *sim = w->sim;
    if (sim_argument_count(op) != 1)
        return sim_stop(w, op, "malloc takes one argument");
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest);
        uint64_t bytes = sim_argument(w, op, 0, lane), number = 0;
        if (bytes <= sim->heap && sim->heap_used + heap_share(bytes) <= sim->heap)
            number = sim_new_allocation(sim, bytes, "malloc");
        if (number) {
            tell_malloc(w, number);
            sim->heap_used += heap_share(bytes);
            sim->heap_bytes += bytes + LEAST_KEPT;
        }
        if (sim->heap_bytes > MOST_KEPT)
            return sim_stop(
                w, op,
                "malloc gave a gigabyte in all: the simulator does not use freed memory again");
        sim_give_result(w, op, lane, number ? sim_address_of(number, 0) : 0);
    }
    return true;
}

static bool run_free(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    if (sim_argument_count(op) != 1)
        return sim_stop(w, op, "free takes one argument");
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint64_t at = sim_argument(w, op, 0, __builtin_ctz(rest)), number = sim_number_of(at);
        if (!at)
            continue;
        struct sim_allocation *a =
            number >= SIM_FIRST_ALLOCATION && number < w->sim->allocations.count
                ? &w->sim->allocations.data[number]
                : NULL;
        if (a && !sim_offset_of(at) && !a->freed && a->name && strcmp(a->name, "malloc") == 0) {
            a->freed = true;
            w->sim->heap_used -= heap_share(a->size);
        } else if (!sim_no_address(w, op, __builtin_ctz(rest),
                                   "free of 0x%" PRIx64 ", which malloc did not give", at)) {
            return false;
        }
    }
    return true;
}

/* --- assert --- */

/* __assertfail(message, file, line, function, size of a character) */
static bool run_assertfail(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    int lane = __builtin_ctz(mask);
    const char *text[4] = {"?", "?", "?", "?"};
    if (sim_argument_count(op) < 4)
        return sim_stop(w, op, "__assertfail takes five arguments");
    for (size_t i = 0; i < 4; i++) {
        const char *s = i == 2 ? NULL : sim_text_at(w, lane, sim_argument(w, op, i, lane));
        text[i] = s ? s : "?";
    }
    return sim_trap(w, op, lane, "assertion `%s` failed (%s:%u, %s)", text[0], text[1],
                    (unsigned)sim_argument(w, op, 2, lane), text[3]);
}

/* --- claims --- */

/* Returns the text of a claim: %d is the next value as an integer, %g as the bits of an f64. */
static const char *claim_text(struct sim_warp *w, const struct sim_op *op, int lane)
{
    struct text out;
    size_t next = 1;
    const char *format = sim_text_at(w, lane, sim_argument(w, op, 0, lane));
    text_init(&out, w->sim->arena);
    for (const char *s = format ? format : "?"; *s; s++) {
        if (*s != '%' || !s[1]) {
            text_add_char(&out, *s);
            continue;
        }
        s++;
        uint64_t bits =
            *s != '%' && next < sim_argument_count(op) ? sim_argument(w, op, next++, lane) : 0;
        double value;
        memcpy(&value, &bits, sizeof value);
        if (*s == 'd')
            text_printf(&out, "%" PRId64, (int64_t)bits);
        else if (*s == 'g')
            text_add_double(&out, value, false);
        else
            text_add_char(&out, *s);
    }
    return out.data;
}

static bool run_claim_assume(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    int lane = __builtin_ctz(mask);
    return sim_end_by_program(w, op, lane, SIM_NOT_ASSUMED, claim_text(w, op, lane));
}

static bool run_claim_inside(struct sim_warp *w, const struct sim_op *op, uint32_t mask)
{
    int lane = __builtin_ctz(mask);
    return sim_end_by_program(w, op, lane, SIM_NOT_INSIDE, claim_text(w, op, lane));
}

sim_handler *sim_builtin(const char *name)
{
    static const struct {
        const char *name;
        sim_handler *run;
    } builtins[] = {
        {"vprintf", run_vprintf},
        {"malloc", run_malloc},
        {"free", run_free},
        {"__assertfail", run_assertfail},
        {"$claim_assume", run_claim_assume},
        {"$claim_inside", run_claim_inside},
    };
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (!strcmp(builtins[i].name, name))
            return builtins[i].run;
    return NULL;
}
