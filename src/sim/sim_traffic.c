/* Shared memory has 32 banks of 4 bytes. An access of w bytes in each lane is made in phases of
 * 128 / w lanes. For a phase the banks form 128 / w groups; each group gives one unit of w bytes
 * in a wavefront. So a phase takes as many wavefronts as its busiest group has distinct units to
 * give, and the phases add up. */
#include "sim/sim_traffic.h"
#include "target/targets.h"

#include <string.h>

enum {
    ROW = GPU_SHARED_CYCLE_BYTES,
    SECTOR = GPU_SECTOR_BYTES,
    HALF_SECTOR = SECTOR / 2,
    BITMAP = 1024
};

/* Units of one phase. */
struct phase {
    uint32_t unit[SIM_LANES];
    int count;
};

/* Returns the number of distinct units of the busiest group, if groups repeat. */
static int busiest(const struct phase *p, uint32_t groups)
{
    uint32_t had[SIM_LANES][SIM_LANES];
    uint8_t count[SIM_LANES] = {0};
    int most = 1;
    for (int i = 0; i < p->count; i++) {
        uint32_t group = p->unit[i] & (groups - 1);
        int j = 0;
        while (j < count[group] && had[group][j] != p->unit[i])
            j++;
        if (j < count[group])
            continue;
        had[group][j] = p->unit[i];
        count[group]++;
        most = most > count[group] ? most : count[group];
    }
    return most;
}

static int phase_wavefronts(const struct phase *p, uint32_t groups)
{
    uint32_t seen = 0, again = 0, rows = 0;
    if (p->count == 0)
        return 0;
    for (int i = 0; i < p->count; i++) {
        uint32_t group = 1u << (p->unit[i] & (groups - 1));
        again |= seen & group;
        seen |= group;
        rows |= (p->unit[i] ^ p->unit[0]) & ~(groups - 1);
    }
    if (rows == 0 || again == 0)
        return 1;
    return busiest(p, groups);
}

/* Returns the shift from an address to a unit of 4, 8 or 16 bytes; narrower accesses count as 4. */
static int unit_shift(int bytes)
{
    return bytes <= 4 ? 2 : bytes <= 8 ? 3 : 4;
}

/* Gathers the units of the lanes of `mask` from lane `first` on. */
static void gather(const struct sim_access *a, uint32_t mask, int first, int lanes, int shift,
                   struct phase *p)
{
    p->count = 0;
    for (int i = first; i < first + lanes; i++)
        if (mask >> i & 1)
            p->unit[p->count++] = (uint32_t)(a->address[i] >> shift);
}

/* Returns true if all lanes access one row of 128 bytes. This is the most frequent case, and
 * this test is as fast as a loop over an array. */
static bool one_row(const struct sim_access *a)
{
    uint64_t other = 0;
    if (a->mask != UINT32_MAX)
        return false;
    for (int i = 0; i < SIM_LANES; i++)
        other |= a->address[i] ^ a->address[0];
    return other < ROW;
}

/* Returns one lane of each pair with the same address, if all lanes n and n ^ 1, or all n and n
 * ^ 2, have the same address; 0: they have not. Such loads of 8 and 16 bytes take half the
 * phases. (Measured with all lanes active only.) */
static uint32_t one_of_pairs(const struct sim_access *a)
{
    uint64_t near = 0, far = 0;
    if (a->kind != SIM_READ || a->bytes <= 4 || a->mask != UINT32_MAX || a->group)
        return 0;
    if (a->address[0] != a->address[1] && a->address[0] != a->address[2])
        return 0;
    for (int i = 0; i < SIM_LANES; i++) {
        near |= a->address[i] ^ a->address[i ^ 1];
        far |= a->address[i] ^ a->address[i ^ 2];
    }
    return near == 0 ? 0x55555555 : far == 0 ? 0x33333333 : 0;
}

static int lanewise(const struct sim_access *a, uint32_t pairs)
{
    int shift = unit_shift(a->bytes), sum = 0;
    struct phase p;
    if (shift == 2 && one_row(a))
        return 1;
    int lanes = pairs ? 2 * ROW >> shift : ROW >> shift;
    uint32_t mask = pairs ? pairs : a->mask;
    for (int first = 0; first < SIM_LANES; first += lanes) {
        gather(a, mask, first, lanes, shift, &p);
        sum += phase_wavefronts(&p, ROW >> shift);
    }
    return sum;
}

/* Counts the wavefronts of ldmatrix and stmatrix: eight rows of 16 bytes are a phase. */
static int rows_of_matrices(const struct sim_access *a)
{
    struct phase p;
    int sum = 0;
    for (int i = 0; i < a->matrices; i++) {
        gather(a, a->mask, 8 * i, 8, 4, &p);
        sum += phase_wavefronts(&p, 8);
    }
    return sum;
}

/* --- cp.async --- */

/* Returns true if the places of the lanes of `mask` are all different, and near each other, as they
 * mostly are. */
static bool all_apart(const uint64_t *to, uint32_t mask)
{
    uint64_t bits[BITMAP / 64] = {0}, lowest = UINT64_MAX;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        lowest = to[__builtin_ctz(rest)] < lowest ? to[__builtin_ctz(rest)] : lowest;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint64_t at = (to[__builtin_ctz(rest)] - lowest) / HALF_SECTOR, bit = 1ull << at % 64;
        if (at >= BITMAP || bits[at / 64] & bit)
            return false;
        bits[at / 64] |= bit;
    }
    return true;
}

/* Return the addresses that a copy reads, and those that it writes. */
static const uint64_t *sources(const struct sim_access *a)
{
    return a->kind == SIM_WRITE && a->across ? a->across : a->address;
}

static const uint64_t *targets(const struct sim_access *a)
{
    return a->kind != SIM_WRITE && a->across ? a->across : a->address;
}

/* Counts the wavefronts of a copy through L1 (.ca). L1's lines are in banks as shared memory is,
 * and in a wavefront a lane needs a group of banks on either side for itself; equal units are
 * not joined. In each wavefront, the first remaining lane of each group of targets is a
 * candidate; of the candidates, the first of each group of sources is served. */
static int copy_by_l1(const struct sim_access *a, uint8_t *wavefront)
{
    const uint64_t *from = sources(a), *to = targets(a);
    int shift = unit_shift(a->bytes), sum = 0, lanes = ROW >> shift;
    uint32_t phase = (uint32_t)((1ull << lanes) - 1);
    for (int first = 0; first < SIM_LANES; first += lanes)
        for (uint32_t left = a->mask & phase << first; left; sum++) {
            uint32_t forward = 0, taken = 0;
            for (uint32_t rest = left; rest; rest &= rest - 1) {
                int lane = __builtin_ctz(rest);
                uint32_t target = 1u << (to[lane] >> shift) % (uint64_t)lanes,
                         source = 1u << (from[lane] >> shift) % (uint64_t)lanes;
                if (!(forward & target) && !(taken & source)) {
                    left &= ~(1u << lane);
                    taken |= source;
                    wavefront[lane] = (uint8_t)sum;
                }
                forward |= target;
            }
        }
    return sum;
}

/* A part of a copy that bypasses L1 (.cg, 16 bytes in each lane): from one row of global memory
 * to one sector of shared memory. */
struct piece {
    uint64_t row, sector;
    /* For the lower and the upper half of the sector: the number of the half sector in the row
     * that comes there; -1: none. */
    int8_t half[2];
    uint8_t lane[2]; /* that copies it */
};

/* Returns the lanes whose target no later lane also has: only those are copied. */
static uint32_t last_writers(const struct sim_access *a, const uint64_t *to)
{
    uint32_t last = a->mask;
    if (all_apart(to, last))
        return last;
    for (int i = 0; i < SIM_LANES; i++)
        for (int j = i + 1; j < SIM_LANES; j++)
            if (to[i] == to[j] && (a->mask >> j & 1))
                last &= ~(1u << i);
    return last;
}

static int pieces_of(const struct sim_access *a, struct piece pieces[SIM_LANES])
{
    const uint64_t *from = sources(a), *to = targets(a);
    int count = 0;
    for (uint32_t rest = last_writers(a, to); rest; rest &= rest - 1) {
        int lane = __builtin_ctz(rest), i = count;
        uint64_t row = from[lane] / ROW, sector = to[lane] / SECTOR;
        while (i > 0 && (pieces[i - 1].row != row || pieces[i - 1].sector != sector))
            i--;
        if (i == 0) {
            pieces[count] = (struct piece){row, sector, {-1, -1}, {0, 0}};
            i = ++count;
        }
        struct piece *p = &pieces[i - 1];
        p->half[to[lane] / HALF_SECTOR % 2] = (int8_t)(from[lane] % ROW / HALF_SECTOR);
        p->lane[to[lane] / HALF_SECTOR % 2] = (uint8_t)lane;
    }
    return count;
}

/* Returns the ways in which the halves of a piece move, as a set of bits. A wavefront moves all
 * pieces between the same rows that move in the same way: the same halves of sectors to the same
 * halves, odd sectors to odd ones or to even ones. Both halves of a sector move at once if they
 * come from one. */
static uint32_t ways(const struct piece *p)
{
    int way[2], parity = (int)(p->sector % 2);
    for (int i = 0; i < 2; i++)
        way[i] = p->half[i] % 2 * 2 + (p->half[i] / 2 + parity) % 2;
    if (p->half[0] >= 0 && p->half[1] >= 0 && p->half[0] / 2 == p->half[1] / 2)
        return 1u << (8 + way[0] * 2 + way[1] / 2);
    return (p->half[0] >= 0 ? 1u << way[0] : 0) | (p->half[1] >= 0 ? 1u << (4 + way[1]) : 0);
}

/* Pieces between the same two rows. */
struct row_pair {
    uint64_t from, to;
    uint32_t ways;
    int before; /* wavefronts of earlier pairs */
};

static int copy_past_l1(const struct sim_access *a, uint8_t *wavefront)
{
    struct piece pieces[SIM_LANES];
    struct row_pair pairs[SIM_LANES];
    int count = pieces_of(a, pieces), pair_count = 0, sum = 0, pair_of[SIM_LANES];
    for (int i = 0; i < count; i++) {
        uint64_t from = pieces[i].row, to = pieces[i].sector / (ROW / SECTOR);
        int j = 0;
        while (j < pair_count && (pairs[j].from != from || pairs[j].to != to))
            j++;
        if (j == pair_count)
            pairs[pair_count++] = (struct row_pair){.from = from, .to = to};
        pairs[j].ways |= ways(&pieces[i]);
        pair_of[i] = j;
    }
    for (int j = 0; j < pair_count; sum += __builtin_popcount(pairs[j++].ways))
        pairs[j].before = sum;
    for (int i = 0; i < count; i++)
        for (int half = 0; half < 2; half++) {
            const struct row_pair *pair = &pairs[pair_of[i]];
            uint32_t own = ways(&pieces[i]), of_half = own & 15u << 4 * half;
            uint32_t below = ((of_half ? of_half : own) - 1) & pair->ways;
            if (pieces[i].half[half] >= 0)
                wavefront[pieces[i].lane[half]] =
                    (uint8_t)(pair->before + __builtin_popcount(below));
        }
    return sum;
}

/* Counts for an access with all lanes at one place, or at consecutive places: it takes the
 * fewest possible wavefronts. 0: another pattern. */
static int orderly(const struct sim_access *a)
{
    bool side_by_side = a->pattern == SIM_LINEAR && a->stride == (uint32_t)a->bytes;
    if ((a->pattern != SIM_UNIFORM && !side_by_side) || a->bytes > 16)
        return 0;
    int phases = a->bytes <= 4 ? 1 : a->bytes / 4;
    return phases > 1 && !side_by_side && a->kind == SIM_READ ? phases / 2 : phases;
}

static int copy(const struct sim_access *a, uint8_t *wavefront)
{
    return a->past_l1 ? copy_past_l1(a, wavefront) : copy_by_l1(a, wavefront);
}

int sim_wavefronts(const struct sim_access *a)
{
    uint8_t ignored[SIM_LANES];
    int known = orderly(a);
    if (known)
        return known;
    if (a->matrix != SIM_LANEWISE)
        return rows_of_matrices(a);
    if (a->group)
        return copy(a, ignored);
    return lanewise(a, one_of_pairs(a));
}

/* Serves lanes `first` to `first` + `lanes` - 1 from wavefront `start` on. A wavefront gives one
 * unit of each group of banks to all lanes that want it. Returns the number of wavefronts. */
static int serve_phase(const struct sim_access *a, int first, int lanes, int shift, int start,
                       uint8_t *wavefront)
{
    uint64_t groups = ROW >> shift;
    int most = 0;
    for (int i = first; i < first + lanes; i++) {
        int turn = 0, known = -1;
        if (!(a->mask >> i & 1))
            continue;
        for (int j = first; j < i && known < 0; j++) {
            uint64_t unit = a->address[i] >> shift, other = a->address[j] >> shift;
            if (!(a->mask >> j & 1) || (unit ^ other) % groups)
                continue;
            known = unit == other ? wavefront[j] - start : -1;
            turn = turn > wavefront[j] - start + 1 ? turn : wavefront[j] - start + 1;
        }
        turn = known >= 0 ? known : turn;
        wavefront[i] = (uint8_t)(start + turn);
        most = most > turn + 1 ? most : turn + 1;
    }
    return most;
}

int sim_serve(const struct sim_access *a, uint8_t wavefront[SIM_LANES])
{
    bool rows = a->matrix != SIM_LANEWISE;
    int shift = rows ? 4 : unit_shift(a->bytes), sum = 0;
    int lanes = (ROW >> shift) << (!rows && one_of_pairs(a) ? 1 : 0);
    memset(wavefront, SIM_NOT_SERVED, SIM_LANES);
    if (a->group)
        return copy(a, wavefront);
    for (int first = 0; first < (rows ? 8 * a->matrices : SIM_LANES); first += lanes)
        sum += serve_phase(a, first, lanes, shift, sum, wavefront);
    return sum;
}

/* Returns the number of different addresses of the active lanes. */
static int distinct(const struct sim_access *a)
{
    uint64_t had[SIM_LANES];
    int count = 0;
    if (all_apart(a->address, a->mask))
        return __builtin_popcount(a->mask);
    for (int i = 0; i < SIM_LANES; i++) {
        int j = 0;
        if (!(a->mask >> i & 1))
            continue;
        /* the latest addresses are the likeliest to occur again */
        for (j = count; j > 0 && had[j - 1] != a->address[i]; j--)
            ;
        if (j == 0)
            had[count++] = a->address[i];
    }
    return count;
}

int sim_wavefronts_ideal(const struct sim_access *a)
{
    int known = orderly(a);
    if (known)
        return known;
    if (a->matrix != SIM_LANEWISE)
        return a->matrices;
    int unit = 1 << unit_shift(a->bytes);
    int lanes = a->group ? distinct(a) : __builtin_popcount(a->mask);
    int least = (lanes * unit + ROW - 1) / ROW;
    /* if pairs collide with others, their saving does not count as possible */
    uint32_t pairs = one_of_pairs(a);
    int taken = pairs ? lanewise(a, pairs) : least;
    return taken < least ? taken : least;
}

/* Counts sectors in rising order, by comparing neighbours; -1: they are not in rising order. */
static int rising_sectors(const uint64_t *sector)
{
    int changes = 0, falls = 0;
    for (int i = 1; i < SIM_LANES; i++) {
        changes += sector[i] != sector[i - 1];
        falls += (int64_t)(sector[i] - sector[i - 1]) < 0;
    }
    return falls ? -1 : changes + 1;
}

/* Counts sectors in any order within BITMAP sectors; -1: they are farther apart. */
static int near_sectors(const uint64_t *sector, int count)
{
    uint64_t bits[BITMAP / 64] = {0}, lowest = sector[0];
    int sum = 0;
    for (int i = 1; i < count; i++)
        lowest = sector[i] < lowest ? sector[i] : lowest;
    for (int i = 0; i < count; i++) {
        uint64_t at = sector[i] - lowest;
        if (at >= BITMAP)
            return -1;
        sum += !(bits[at / 64] >> at % 64 & 1);
        bits[at / 64] |= 1ull << at % 64;
    }
    return sum;
}

static int far_sectors(const uint64_t *sector, int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        int j = 0;
        while (j < i && sector[j] != sector[i])
            j++;
        sum += j == i;
    }
    return sum;
}

int sim_sectors(const struct sim_access *a)
{
    uint64_t sector[2 * SIM_LANES];
    struct piece pieces[SIM_LANES];
    int count = 0, sum = -1;
    if (orderly(a)) {
        uint64_t last = a->address[SIM_LANES - 1] + (uint64_t)a->bytes - 1;
        return (int)(last / SECTOR - a->address[0] / SECTOR) + 1;
    }
    if (a->group && a->past_l1)
        return pieces_of(a, pieces);
    /* Accesses are aligned to their width, so an access of up to 32 bytes is in one sector. */
    int wide = a->bytes > SECTOR ? a->bytes / SECTOR : 1;
    if (a->mask == UINT32_MAX && wide == 1) {
        for (count = 0; count < SIM_LANES; count++)
            sector[count] = a->address[count] / SECTOR;
        sum = rising_sectors(sector);
    } else {
        for (int i = 0; i < SIM_LANES; i++)
            for (int s = 0; s < wide && s < 2; s++)
                if (a->mask >> i & 1)
                    sector[count++] = a->address[i] / SECTOR + (uint64_t)s;
    }
    if (count == 0)
        return 0;
    if (sum < 0)
        sum = near_sectors(sector, count);
    return sum >= 0 ? sum : far_sectors(sector, count);
}
