/* Wavefronts and sectors, counted from the lanes' addresses. The search for a layout of shared memory spends most of its time here,
 * so this file is compiled for speed. */
#include "layout/layout_access.h"

#include <assert.h>

enum { BANKS = 32, WORD_LOG = 2, ROW_BYTES = 16, SECTOR_BYTES = 32 };

static int lanes_per_phase(int bytes)
{
    return bytes <= 4 ? LAYOUT_LANES : LAYOUT_LANES * 4 / bytes;
}

/* Returns the greatest number of different pieces that `count` lanes with `bytes` bytes each ask
 * of one bank. A piece is a word, or several words if all lanes access them together at
 * multiples of their size. */
static int busiest_bank(const uint32_t *address, uint32_t active, int count, int bytes)
{
    uint32_t seen[BANKS][LAYOUT_LANES], any = 0, touched = 0, again = 0;
    int used[BANKS] = {0}, most = 0, log = WORD_LOG;
    for (int lane = 0; lane < count && bytes > 1 << WORD_LOG; lane++)
        any |= address[lane] & (0u - (active >> lane & 1));
    while (1 << log < bytes && !(any >> log & 1))
        log++;
    uint32_t pieces = bytes >> log ? (uint32_t)bytes >> log : 1, banks = BANKS >> (log - WORD_LOG);
    for (int lane = 0; lane < count; lane++) {
        uint32_t bit = (active >> lane & 1) << (address[lane] >> log & (banks - 1));
        again |= touched & bit;
        touched |= bit;
    }
    if (pieces == 1 && !again)
        return touched != 0;
    for (int lane = 0; lane < count; lane++) {
        if (!(active >> lane & 1))
            continue;
        for (uint32_t p = 0; p < pieces; p++) {
            uint32_t at = (address[lane] >> log) + p, bank = at & (banks - 1);
            int n = 0;
            while (n < used[bank] && seen[bank][n] != at)
                n++;
            if (n == used[bank])
                seen[bank][used[bank]++] = at;
            most = used[bank] > most ? used[bank] : most;
        }
    }
    return most;
}

int layout_shared_wavefronts(const uint32_t address[LAYOUT_LANES], uint32_t active, int bytes)
{
    assert(bytes > 0 && bytes <= 16);
    int lanes = lanes_per_phase(bytes), sum = 0;
    for (int first = 0; first < LAYOUT_LANES; first += lanes)
        sum += busiest_bank(address + first, active >> first, lanes, bytes);
    return sum;
}

int layout_shared_wavefronts_least(uint32_t active, int bytes)
{
    int lanes = lanes_per_phase(bytes), sum = 0;
    uint32_t all = lanes == LAYOUT_LANES ? UINT32_MAX : (1u << lanes) - 1;
    for (int first = 0; first < LAYOUT_LANES; first += lanes)
        sum += (active >> first & all) != 0;
    return sum;
}

int layout_matrix_wavefronts(const uint32_t rows[LAYOUT_LANES], int matrices)
{
    int sum = 0;
    for (int m = 0; m < matrices; m++)
        sum += busiest_bank(rows + 8 * m, UINT32_MAX, 8, ROW_BYTES);
    return sum;
}

int layout_global_sectors(const uint64_t address[LAYOUT_LANES], uint32_t active, int bytes)
{
    uint64_t seen[2 * LAYOUT_LANES];
    assert(bytes > 0 && bytes <= SECTOR_BYTES);
    int count = 0;
    for (int lane = 0; lane < LAYOUT_LANES; lane++) {
        if (!(active >> lane & 1))
            continue;
        uint64_t last = (address[lane] + (uint64_t)bytes - 1) / SECTOR_BYTES;
        for (uint64_t sector = address[lane] / SECTOR_BYTES; sector <= last; sector++) {
            int n = 0;
            while (n < count && seen[n] != sector)
                n++;
            if (n == count)
                seen[count++] = sector;
        }
    }
    return count;
}
