#include "api/ptx_memory.h"

#include <string.h>

static void add_piece(struct ptx_memory *m, struct ptx_piece piece)
{
    if (!piece.uninitialised)
        piece.initialised = piece.bytes;
    if (piece.initialised > piece.bytes)
        piece.initialised = piece.bytes;
    m->pieces[m->piece_count++] = piece;
}

static void find_pieces(struct ptx_memory *m, struct arena *a, const struct ptx_function *kernel)
{
    const tw_ptx_launch *l = m->launch;
    int count = 0;
    for (int i = 0; i < l->argument_count; i++)
        count += l->arguments[i].is_array ? 1 : l->arguments[i].pointer_count;
    m->pieces = arena_array(a, struct ptx_piece, count + 1);
    for (int i = 0; i < l->argument_count; i++) {
        const tw_ptx_argument *g = &l->arguments[i];
        const char *name = g->name ? g->name : kernel->signature.parameters.data[i]->name;
        if (g->is_array)
            add_piece(m, (struct ptx_piece){.argument = i,
                                            .name = name,
                                            .data = g->data,
                                            .bytes = g->bytes,
                                            .initialised = g->initialised,
                                            .structs = g->structs,
                                            .uninitialised = g->uninitialised});
        for (int k = 0; k < g->pointer_count && !g->is_array; k++) {
            const tw_ptx_pointer *p = &g->pointers[k];
            const char *inner = p->name ? p->name : arena_printf(a, "%s+%zu", name, p->offset);
            add_piece(m, (struct ptx_piece){.argument = i,
                                            .at = p->offset,
                                            .inside = true,
                                            .name = inner,
                                            .data = p->data,
                                            .bytes = p->bytes,
                                            .initialised = p->initialised,
                                            .structs = p->structs,
                                            .uninitialised = p->uninitialised});
        }
    }
}

/* Adds another piece to a block. */
static void join(struct arena *a, struct ptx_block *b, const struct ptx_piece *p)
{
    size_t offset = (size_t)(p->data - b->data);
    if (offset + p->bytes > b->bytes)
        b->bytes = offset + p->bytes;
    if (offset + p->initialised > b->initialised)
        b->initialised = offset + p->initialised;
    b->uninitialised = b->uninitialised && p->uninitialised;
    b->structs = b->structs || p->structs;
    if (offset == 0)
        b->name = arena_printf(a, "%s (also %s)", b->name, p->name);
}

/* Sorts the pieces by address, so that overlapping ones are neighbours. */
static void find_blocks(struct ptx_memory *m, struct arena *a)
{
    struct ptx_piece **order = arena_array(a, struct ptx_piece *, m->piece_count + 1);
    m->blocks = arena_array(a, struct ptx_block, m->piece_count + 1);
    for (int i = 0; i < m->piece_count; i++) {
        int at = i;
        for (; at > 0 && (uintptr_t)order[at - 1]->data > (uintptr_t)m->pieces[i].data; at--)
            order[at] = order[at - 1];
        order[at] = &m->pieces[i];
    }
    struct ptx_block *b = NULL;
    for (int i = 0; i < m->piece_count; i++) {
        struct ptx_piece *p = order[i];
        if (b && (uintptr_t)p->data - (uintptr_t)b->data < b->bytes) {
            join(a, b, p);
        } else {
            b = &m->blocks[m->block_count++];
            *b = (struct ptx_block){.data = p->data,
                                    .bytes = p->bytes,
                                    .uninitialised = p->uninitialised,
                                    .initialised = p->initialised,
                                    .structs = p->structs,
                                    .name = p->name};
        }
        p->block = b;
    }
}

void launch_ptx_memory_find(struct ptx_memory *m, struct arena *a, const tw_ptx_launch *l,
                            const struct ptx_function *kernel)
{
    *m = (struct ptx_memory){.launch = l};
    find_pieces(m, a, kernel);
    find_blocks(m, a);
}

const void **launch_ptx_memory_values(const struct ptx_memory *m, struct arena *a)
{
    const tw_ptx_launch *l = m->launch;
    uint8_t **values = arena_array(a, uint8_t *, l->argument_count + 1);
    for (int i = 0; i < l->argument_count; i++) {
        const tw_ptx_argument *g = &l->arguments[i];
        values[i] = arena_alloc(a, g->is_array ? sizeof(uint64_t) : g->bytes + 1);
        if (!g->is_array && g->bytes)
            memcpy(values[i], g->data, g->bytes);
    }
    for (int i = 0; i < m->piece_count; i++) {
        const struct ptx_piece *p = &m->pieces[i];
        uint64_t address = p->block->address + (uint64_t)(p->data - p->block->data);
        memcpy(values[p->argument] + (p->inside ? p->at : 0), &address, sizeof address);
    }
    return (const void **)values;
}
