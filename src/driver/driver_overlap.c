/* Which bytes two pieces of work have in common. */
#include "driver/driver_order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers of instructions --- */

enum { MOST_INSTRUCTIONS = 1 << (16 - DRIVER_TOUCHES) };

static struct {
    struct number_map numbers;
    const struct ptx_instruction *list[MOST_INSTRUCTIONS];
    unsigned count;
} instructions = {.count = 1};

unsigned driver_instruction_number(const struct ptx_instruction *ins)
{
    static const struct ptx_instruction *last;
    static unsigned last_number;
    bool added;
    if (ins == last)
        return last_number;
    struct number_entry *e =
        number_map_entry(&driver.arena, &instructions.numbers, (uintptr_t)ins, &added);
    if (added && instructions.count < MOST_INSTRUCTIONS) {
        e->value = instructions.count;
        instructions.list[instructions.count++] = ins;
    }
    last = ins;
    last_number = (unsigned)e->value;
    return last_number;
}

/* Returns the instruction of a number; NULL: there are too many. */
static const struct ptx_instruction *instruction_of(unsigned number)
{
    assert(number < instructions.count);
    return instructions.list[number];
}

/* --- pages --- */

static size_t slot_of(const struct driver_work *w, uint64_t address)
{
    assert(w->page_count < w->page_room && !(w->page_room & (w->page_room - 1)));
    size_t slot = (size_t)((address / DRIVER_PAGE) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
    slot &= w->page_room - 1;
    while (w->pages[slot] && w->pages[slot]->address != address)
        slot = (slot + 1) & (w->page_room - 1);
    return slot;
}

static bool has_room(struct driver_work *w)
{
    enum { FIRST = 64 };
    if (2 * w->page_count < w->page_room)
        return true;
    struct driver_work bigger = {.page_room = w->page_room ? 2 * w->page_room : FIRST};
    bigger.pages = calloc(bigger.page_room, sizeof(struct driver_page *));
    if (!bigger.pages)
        return false;
    for (size_t i = 0; i < w->page_room; i++)
        if (w->pages[i])
            bigger.pages[slot_of(&bigger, w->pages[i]->address)] = w->pages[i];
    free(w->pages);
    w->pages = bigger.pages;
    w->page_room = bigger.page_room;
    return true;
}

static const struct driver_page *page_at(const struct driver_work *w, uint64_t address)
{
    return w->page_room ? w->pages[slot_of(w, address - address % DRIVER_PAGE)] : NULL;
}

struct driver_page *driver_work_page(struct driver_work *w, uint64_t address)
{
    address -= address % DRIVER_PAGE;
    if (!has_room(w))
        return NULL;
    size_t slot = slot_of(w, address);
    if (w->pages[slot])
        return w->pages[slot];
    struct driver_page *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->address = address;
    w->pages[slot] = p;
    w->page_count++;
    return p;
}

/* --- overlaps --- */

static bool needs_order(unsigned a, unsigned b)
{
    if (!a || !b)
        return false;
    return ((a | b) & DRIVER_WRITES) || (a & DRIVER_READS && b & DRIVER_WRITES_ATOMICALLY) ||
           (b & DRIVER_READS && a & DRIVER_WRITES_ATOMICALLY);
}

static void describe(struct driver_overlap *out, uint64_t address, unsigned a, unsigned b)
{
    *out = (struct driver_overlap){
        .address = address,
        .touch = {a & DRIVER_TOUCH_MASK, b & DRIVER_TOUCH_MASK},
        .ins = {instruction_of(a >> DRIVER_TOUCHES), instruction_of(b >> DRIVER_TOUCHES)}};
}

static bool overlap_pages(const struct driver_page *a, const struct driver_page *b,
                          struct driver_overlap *out)
{
    for (unsigned i = 0; i < DRIVER_PAGE; i++)
        if (needs_order(a->bytes[i] & DRIVER_TOUCH_MASK, b->bytes[i] & DRIVER_TOUCH_MASK)) {
            describe(out, a->address + i, a->bytes[i], b->bytes[i]);
            return true;
        }
    return false;
}

static bool overlap_span(const struct driver_page *a, const struct driver_span *b, bool swapped,
                         struct driver_overlap *out)
{
    if (b->address >= a->address + DRIVER_PAGE || a->address >= b->address + b->bytes)
        return false;
    uint64_t from = b->address > a->address ? b->address - a->address : 0;
    uint64_t end = b->address + b->bytes - a->address;
    for (uint64_t i = from; i < end && i < DRIVER_PAGE; i++)
        if (needs_order(a->bytes[i] & DRIVER_TOUCH_MASK, b->touch)) {
            describe(out, a->address + i, swapped ? b->touch : a->bytes[i],
                     swapped ? a->bytes[i] : b->touch);
            return true;
        }
    return false;
}

/* Compares the pages of a with the pages and spans of b. */
static bool overlap_of_pages(const struct driver_work *a, const struct driver_work *b, bool swapped,
                             struct driver_overlap *out)
{
    for (size_t i = 0; i < a->page_room; i++) {
        const struct driver_page *p = a->pages[i];
        if (!p)
            continue;
        const struct driver_page *q = page_at(b, p->address);
        if (q && !swapped && overlap_pages(p, q, out))
            return true;
        for (int k = 0; k < b->span_count; k++)
            if (overlap_span(p, &b->spans[k], swapped, out))
                return true;
    }
    return false;
}

static bool overlap_of_spans(const struct driver_work *a, const struct driver_work *b,
                             struct driver_overlap *out)
{
    for (int i = 0; i < a->span_count; i++)
        for (int k = 0; k < b->span_count; k++) {
            const struct driver_span *x = &a->spans[i], *y = &b->spans[k];
            if (x->address >= y->address + y->bytes || y->address >= x->address + x->bytes ||
                !needs_order(x->touch, y->touch))
                continue;
            describe(out, x->address > y->address ? x->address : y->address, x->touch, y->touch);
            return true;
        }
    return false;
}

bool driver_overlaps(const struct driver_work *a, const struct driver_work *b,
                     struct driver_overlap *out)
{
    return overlap_of_spans(a, b, out) || overlap_of_pages(a, b, false, out) ||
           overlap_of_pages(b, a, true, out);
}

bool driver_writes_atomically(const struct driver_work *w, uint64_t address)
{
    const struct driver_page *p = page_at(w, address);
    unsigned touch = p ? p->bytes[address % DRIVER_PAGE] & DRIVER_TOUCH_MASK : 0;
    for (int i = 0; i < w->span_count; i++)
        if (address - w->spans[i].address < w->spans[i].bytes)
            touch |= w->spans[i].touch;
    return touch & DRIVER_WRITES_ATOMICALLY && !(touch & DRIVER_WRITES);
}

bool driver_touches_byte(const struct driver_work *w, uint64_t address, bool host_writes,
                         struct driver_overlap *out)
{
    struct driver_span byte = {address, 1,
                               host_writes ? DRIVER_WRITES_ATOMICALLY : DRIVER_READS_ATOMICALLY};
    struct driver_work host = {.spans = &byte, .span_count = 1};
    return driver_overlaps(w, &host, out);
}
