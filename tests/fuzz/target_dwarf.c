/* A program's file: its sections are found, and each of its functions has lines or none. */
#include "fuzz_target.h"

#include "driver/program_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Looks up an address. The places have a file and a line, whose texts can be read to their ends. */
static void look_up(struct arena *a, struct dwarf_sections *s, uint64_t address)
{
    struct dwarf_place list[DWARF_PLACES];
    int count = dwarf_places(a, s, address, list);
    if (count < 0 || count > DWARF_PLACES)
        abort();
    for (int i = 0; i < count; i++)
        if (list[i].line <= 0 || strlen(list[i].file) == 0 ||
            (list[i].function && strlen(list[i].function) == SIZE_MAX))
            abort();
}

static void look_up_all(struct arena *a, const struct elf_file *f)
{
    enum { MOST = 16, STEPS = 4 };
    struct dwarf_sections s;
    driver_program_debug_sections(a, f, &s);
    for (size_t i = 0; f->symbols && i < f->count && i < MOST; i++)
        for (uint64_t k = 0; k < STEPS; k++)
            look_up(a, &s, f->symbols[i].st_value + k * (f->symbols[i].st_size / STEPS));
    look_up(a, &s, 0);
    look_up(a, &s, UINT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct elf_file f;
    struct arena a;
    jmp_buf out_of_memory;
    snprintf(path, sizeof path, "/tmp/tw-fuzz-%ld.elf", (long)getpid());
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(data, 1, size, out) != size)
        abort();
    fclose(out);
    if (elf_open(&f, path)) {
        arena_init(&a, &allocator_libc, &out_of_memory);
        if (!setjmp(out_of_memory))
            look_up_all(&a, &f);
        arena_free(&a);
        elf_close(&f);
    }
    remove(path);
    return 0;
}
