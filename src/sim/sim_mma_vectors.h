/* A product of matrices with COLUMNS columns in a vector and GROUP rows in registers at a time.
 * sim_mma.c includes this for each width of vectors; WIDTH(name) distinguishes the names, TARGET is
 * the attribute of functions that need a certain machine.
 *
 * Eight columns of a row are VECTORS vectors: first the even ones, then the odd ones. */
enum { WIDTH(VECTORS) = MMA_SIDE / COLUMNS };
#define BLOCKS (GROUP > MMA_SIDE ? GROUP / MMA_SIDE : 1)
typedef double WIDTH(doubles) __attribute__((vector_size(COLUMNS * sizeof(double))));
typedef float WIDTH(floats) __attribute__((vector_size(COLUMNS * sizeof(float))));
typedef uint64_t WIDTH(longs) __attribute__((vector_size(COLUMNS * sizeof(uint64_t))));
typedef uint32_t WIDTH(words) __attribute__((vector_size(COLUMNS * sizeof(uint32_t))));

#if COLUMNS == 8
#define FUSED(x, y, z, exact) ((void)(exact), (WIDTH(doubles))_mm512_fmadd_pd(x, y, z))
#define WIDEN(v) ((WIDTH(doubles))_mm512_cvtps_pd((__m256)(v)))
#define NARROW(v) ((WIDTH(floats))_mm512_cvtpd_ps(v))
#define HAS_NAN(v) (_mm512_cmp_pd_mask(v, v, _CMP_UNORD_Q) != 0)
#elif COLUMNS == 4
#define FUSED(x, y, z, exact) ((void)(exact), (WIDTH(doubles))_mm256_fmadd_pd(x, y, z))
#define WIDEN(v) ((WIDTH(doubles))_mm256_cvtps_pd((__m128)(v)))
#define NARROW(v) ((WIDTH(floats))_mm256_cvtpd_ps(v))
#define HAS_NAN(v) (_mm256_movemask_pd(_mm256_cmp_pd(v, v, _CMP_UNORD_Q)) != 0)
#else
/* If the product is exact, multiplying and then adding rounds as a fused operation does. */
#define FUSED(x, y, z, exact)                                                                      \
    ((exact) ? (x) * (y) + (z)                                                                     \
             : (WIDTH(doubles)){fma((x)[0], (y)[0], (z)[0]), fma((x)[1], (y)[1], (z)[1])})
#define WIDEN(v) __builtin_convertvector(v, WIDTH(doubles))
#define NARROW(v) __builtin_convertvector(v, WIDTH(floats))
#define HAS_NAN(v) isnan((v)[0] + (v)[1])
#endif

/* --- factors --- */

/* Turns words of eight rows, so that words at the same place along k are neighbours. */
TARGET MMA_INLINE void WIDTH(turn)(const uint32_t *in, uint32_t *turned)
{
#if COLUMNS == 8
    const __m512i places =
                      _mm512_setr_epi32(0, 8, 16, 24, 4, 12, 20, 28, 1, 9, 17, 25, 5, 13, 21, 29),
                  low = _mm512_loadu_si512(in), high = _mm512_loadu_si512(in + SIM_LANES / 2);
    for (int half = 0; half < 2; half++) { /* words 0 and 1, then 2 and 3 */
        const __m512i from = _mm512_add_epi32(places, _mm512_set1_epi32(2 * half));
        _mm512_storeu_si512(turned + SIM_LANES / 2 * half,
                            _mm512_permutex2var_epi32(low, from, high));
    }
#elif COLUMNS == 4
    __m256i pair[MMA_WORDS], half[MMA_WORDS];
    for (int i = 0; i < MMA_WORDS; i++) /* rows 2 i and 2 i + 1 */
        pair[i] = _mm256_loadu_si256((const __m256i *)(const void *)(in + MMA_SIDE * i));
    for (int i = 0; i < 2; i++) {
        half[2 * i] = _mm256_unpacklo_epi32(pair[2 * i], pair[2 * i + 1]);
        half[2 * i + 1] = _mm256_unpackhi_epi32(pair[2 * i], pair[2 * i + 1]);
    }
    for (int p = 0; p < MMA_WORDS; p++) {
        __m256i row = p % 2 ? _mm256_unpackhi_epi64(half[p / 2], half[2 + p / 2])
                            : _mm256_unpacklo_epi64(half[p / 2], half[2 + p / 2]);
        _mm256_storeu_si256((__m256i *)(void *)(turned + MMA_SIDE * p), row);
    }
#else
    for (int p = 0; p < MMA_WORDS; p++)
        for (int j = 0; j < MMA_SIDE / 2; j++) {
            turned[MMA_SIDE * p + j] = in[MMA_WORDS * 2 * j + p];
            turned[MMA_SIDE * p + MMA_SIDE / 2 + j] = in[MMA_WORDS * (2 * j + 1) + p];
        }
#endif
}

/* Unpacks a register's elements; each step of k takes `across` elements. */
TARGET MMA_INLINE void WIDTH(spread_floats)(enum ptx_mod type, int per_word, const uint32_t *turned,
                                            double *out, size_t across)
{
    float values[SIM_LANES * MMA_MOST_FLOATS_PER_WORD], *value = values;
    mma_floats(type, per_word, turned, values);
    for (int k = 0; k < MMA_WORDS * per_word; k++, out += across)
        for (int v = 0; v < WIDTH(VECTORS); v++, value += COLUMNS) {
            WIDTH(floats) narrow;
            memcpy(&narrow, value, sizeof narrow);
            const WIDTH(doubles) wide = WIDEN(narrow);
            memcpy(out + v * COLUMNS, &wide, sizeof wide);
        }
}

TARGET static void WIDTH(spread)(enum ptx_mod type, const uint32_t *in, void *out, size_t across)
{
    uint32_t turned[SIM_LANES];
    if (type != MOD_F64)
        WIDTH(turn)(in, turned);
    switch ((int)type) {
#define DO(id, per_word)                                                                           \
    case MOD_##id: WIDTH(spread_floats)(MOD_##id, per_word, turned, out, across); break;
        MMA_EACH_FLOAT(DO)
#undef DO
#define DO(id, per_word)                                                                           \
    case MOD_##id: mma_spread_integers(MOD_##id, per_word, turned, out, across); break;
        MMA_EACH_INTEGER(DO)
#undef DO
    default: mma_spread_doubles(in, out, across);
    }
}

/* Returns true if these registers' words were unpacked last. Otherwise notes them as kept. */
TARGET static bool WIDTH(is_kept)(struct sim_mma_factor *kept, const uint8_t *file,
                                  const uint32_t *slots, int count)
{
    WIDTH(longs) others = {0};
    for (int i = 0; i < count && kept->filled; i++) {
        const uint8_t *now = file + slots[i], *then = (const uint8_t *)kept->words[i];
        for (size_t at = 0; at < sizeof kept->words[i]; at += sizeof others) {
            WIDTH(longs) a, b;
            memcpy(&a, now + at, sizeof a);
            memcpy(&b, then + at, sizeof b);
            others |= a ^ b;
        }
    }
    uint64_t other = !kept->filled;
    for (int i = 0; i < COLUMNS; i++)
        other |= others[i];
    if (!other)
        return true;
    for (int i = 0; i < count; i++)
        memcpy(kept->words[i], file + slots[i], sizeof kept->words[i]);
    kept->filled = true;
    return false;
}

/* Unpacks the elements of registers: `rows` blocks next to each other, then along k. */
TARGET static void WIDTH(unpack)(const struct sim_mma *p, uint16_t type, const uint8_t *file,
                                 const uint32_t *slots, int count, int rows, void *elements)
{
    for (int i = 0; i < count; i++) {
        const uint32_t *in = (const uint32_t *)(const void *)(file + slots[i]);
        uint64_t *out =
            (uint64_t *)elements + (i / rows * rows * steps_of(p) + i % rows) * MMA_SIDE;
        WIDTH(spread)((enum ptx_mod)type, in, out, (size_t)(rows * MMA_SIDE));
    }
}

TARGET static void WIDTH(unpack_kept)(const struct sim_mma *p, uint16_t type, const uint8_t *file,
                                      const uint32_t *slots, int count, int rows,
                                      struct sim_mma_factor *kept)
{
    if (!WIDTH(is_kept)(kept, file, slots, count))
        WIDTH(unpack)(p, type, file, slots, count, rows, kept->elements);
}

TARGET static void WIDTH(take_factors)(const struct sim_mma *p, const uint8_t *file,
                                       const uint32_t *more, struct room *room, struct product *x)
{
    const uint32_t *a = more + p->a, *b = more + p->b;
    x->depth = p->blocks * steps_of(p);
    x->across = p->rows * MMA_SIDE;
    if (p->type_a == MOD_F64) {
        WIDTH(unpack)(p, MOD_F64, file, b, p->b_count, 1, room->b);
        WIDTH(unpack)(p, MOD_F64, file, a, p->a_count, p->rows, room->a);
        x->a = room->a;
        x->b = room->b;
        return;
    }
    WIDTH(unpack_kept)(p, p->type_b, file, b, p->b_count, 1, p->kept_b);
    WIDTH(unpack_kept)(p, p->type_a, file, a, p->a_count, p->rows, p->kept_a);
    x->a = p->kept_a->elements;
    x->b = p->kept_b->elements;
}

/* --- eight words of a row: the even columns at one place, the odd ones at another --- */

TARGET MMA_INLINE void WIDTH(load_words)(const uint8_t *even, const uint8_t *odd,
                                         WIDTH(words) out[])
{
#if COLUMNS == 8
    out[0] = (WIDTH(words))_mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)even)),
        _mm_loadu_si128((const __m128i *)(const void *)odd), 1);
#else
    for (int v = 0; v < WIDTH(VECTORS) / 2; v++) {
        memcpy(&out[v], even + (size_t)v * sizeof *out, sizeof *out);
        memcpy(&out[WIDTH(VECTORS) / 2 + v], odd + (size_t)v * sizeof *out, sizeof *out);
    }
#endif
}

TARGET MMA_INLINE void WIDTH(store_words)(uint8_t *even, uint8_t *odd, const WIDTH(words) in[])
{
#if COLUMNS == 8
    _mm_storeu_si128((__m128i *)(void *)even, _mm256_castsi256_si128((__m256i)in[0]));
    _mm_storeu_si128((__m128i *)(void *)odd, _mm256_extracti128_si256((__m256i)in[0], 1));
#else
    for (int v = 0; v < WIDTH(VECTORS) / 2; v++) {
        memcpy(even + (size_t)v * sizeof *in, &in[v], sizeof *in);
        memcpy(odd + (size_t)v * sizeof *in, &in[WIDTH(VECTORS) / 2 + v], sizeof *in);
    }
#endif
}

/* --- halves: a word has those of an even column and of the odd one after it --- */

TARGET MMA_INLINE void WIDTH(load_halves)(const uint8_t *from, WIDTH(floats) out[])
{
#if COLUMNS > 2
    const __m128i apart = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    __m128i eight = _mm_loadu_si128((const __m128i *)(const void *)from);
    eight = _mm_shuffle_epi8(eight, apart);
#endif
#if COLUMNS == 8
    out[0] = (WIDTH(floats))_mm256_cvtph_ps(eight);
#elif COLUMNS == 4
    out[0] = (WIDTH(floats))_mm_cvtph_ps(eight);
    out[1] = (WIDTH(floats))_mm_cvtph_ps(_mm_srli_si128(eight, 8));
#else
    uint32_t word[MMA_WORDS];
    memcpy(word, from, sizeof word);
    for (int i = 0; i < MMA_WORDS; i++) {
        out[i / COLUMNS][i % COLUMNS] = sim_f16_float((uint16_t)word[i]);
        out[(MMA_WORDS + i) / COLUMNS][i % COLUMNS] = sim_f16_float((uint16_t)(word[i] >> 16));
    }
#endif
}

TARGET MMA_INLINE void WIDTH(store_halves)(uint8_t *to, const WIDTH(words) in[])
{
#if COLUMNS == 8
    const __m128i eight = _mm256_cvtps_ph((__m256)in[0], _MM_FROUND_TO_NEAREST_INT),
                  both = _mm_unpacklo_epi16(eight, _mm_srli_si128(eight, 8));
    _mm_storeu_si128((__m128i *)(void *)to, both);
#elif COLUMNS == 4
    const __m128i even = _mm_cvtps_ph((__m128)in[0], _MM_FROUND_TO_NEAREST_INT),
                  odd = _mm_cvtps_ph((__m128)in[1], _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128((__m128i *)(void *)to, _mm_unpacklo_epi16(even, odd));
#else
    uint32_t word[MMA_WORDS];
    for (int i = 0; i < MMA_WORDS; i++)
        word[i] = sim_f16_narrow(in[i / COLUMNS][i % COLUMNS]) |
                  (uint32_t)sim_f16_narrow(in[(MMA_WORDS + i) / COLUMNS][i % COLUMNS]) << 16;
    memcpy(to, word, sizeof word);
#endif
}

/* Converts to f32, rounded to odd: cut off, with the last bit set if anything was lost. Rounding
 * such a value to f16 rounds as if once. (Below the normal numbers of f32 it is not odd; those
 * are far below the least half.) */
TARGET MMA_INLINE void WIDTH(round_to_odd)(const WIDTH(doubles) sum[1], WIDTH(words) out[1])
{
    const WIDTH(longs) bits = (WIDTH(longs)) * sum,
                       below = (WIDTH(longs)){0} + ((UINT64_C(1) << (52 - 23)) - 1),
                       odd = (bits | ((bits & below) + below)) & ~below;
    *out = (WIDTH(words))NARROW((WIDTH(doubles))odd);
}

/* --- rows of sums --- */

/* The lane of each of eight rows in their registers, by position 0 to 7: rows 0 2 4 6 1 3 5 7. */
#define LANE_OF(position) ((size_t)((position) % 4 * 2 + (position) / 4) * MMA_WORDS)

/* Loads the row that begins at a lane, from a block of eight. */
TARGET MMA_INLINE void WIDTH(load_row)(const struct pair *c, size_t lane, enum ptx_mod type,
                                       WIDTH(doubles) sum[])
{
    const size_t at = lane * (type == MOD_F64 ? sizeof(double) : sizeof(float));
    WIDTH(floats) narrow[WIDTH(VECTORS)];
    if (type == MOD_F64) {
        memcpy(sum, c->even + at, MMA_WORDS * sizeof(double));
        memcpy((double *)(void *)sum + MMA_WORDS, c->odd + at, MMA_WORDS * sizeof(double));
        return;
    }
    if (type == MOD_F16)
        WIDTH(load_halves)(c->even + at, narrow);
    else
        WIDTH(load_words)(c->even + at, c->odd + at, (WIDTH(words) *)narrow);
    for (int v = 0; v < WIDTH(VECTORS); v++)
        sum[v] = WIDEN(narrow[v]);
}

TARGET MMA_INLINE void WIDTH(store_row)(const struct pair *d, size_t lane, enum ptx_mod type,
                                        const WIDTH(doubles) sum[])
{
    const size_t at = lane * (type == MOD_F64 ? sizeof(double) : sizeof(float));
    WIDTH(words) narrow[WIDTH(VECTORS)];
    if (type == MOD_F64) {
        memcpy(d->even + at, sum, MMA_WORDS * sizeof(double));
        memcpy(d->odd + at, (const double *)(const void *)sum + MMA_WORDS,
               MMA_WORDS * sizeof(double));
        return;
    }
    for (int v = 0; v < WIDTH(VECTORS); v++)
        if (type == MOD_F16)
            WIDTH(round_to_odd)(&sum[v], &narrow[v]);
        else
            narrow[v] = (WIDTH(words))NARROW(sum[v]);
    if (type == MOD_F16)
        WIDTH(store_halves)(d->even + at, narrow);
    else
        WIDTH(store_words)(d->even + at, d->odd + at, narrow);
}

/* Does all of a product, GROUP rows at a time, or eight at a time if fewer than GROUP remain. */
#define EACH_GROUP(DO)                                                                             \
    for (int panel = 0; panel < x->panels; panel++)                                                \
        for (int first = 0; first < x->across; first += GROUP)                                     \
            if (GROUP > MMA_SIDE && x->across - first < GROUP)                                     \
                DO(MMA_SIDE);                                                                      \
            else                                                                                   \
                DO(GROUP);

/* --- floats --- */

/* Multiplies `group` rows from position `first` on by a panel of B. If a sum is NaN, an element
 * of `seen` becomes NaN. */
TARGET MMA_INLINE void WIDTH(multiply_rows)(const struct product *x, int panel, int first,
                                            const int group, enum ptx_mod from, enum ptx_mod to,
                                            WIDTH(doubles) seen[MMA_WORDS])
{
    const double *a = (const double *)x->a + first,
                 *b = (const double *)x->b + panel * x->depth * MMA_SIDE;
    const int block = (panel * x->across + first) / MMA_SIDE;
    const size_t low = LANE_OF(first % MMA_SIDE);
    struct pair c[BLOCKS], d[BLOCKS];
    WIDTH(doubles) sum[GROUP][WIDTH(VECTORS)];
    for (int i = 0; i * MMA_SIDE < group; i++) {
        c[i] = pair_of(&x->c, block + i, from);
        d[i] = pair_of(&x->d, block + i, to);
    }
    EACH_ROW
    for (int r = 0; r < group; r++)
        WIDTH(load_row)(&c[r / MMA_SIDE], low + LANE_OF(r % MMA_SIDE), from, sum[r]);
    for (int k = 0; k < x->depth; k++, a += x->across, b += MMA_SIDE) {
        WIDTH(doubles) column[WIDTH(VECTORS)];
        for (int v = 0; v < WIDTH(VECTORS); v++)
            memcpy(&column[v], b + v * COLUMNS, sizeof *column);
        EACH_ROW
        for (int r = 0; r < group; r++) {
            const WIDTH(doubles) factor = a[r] - (WIDTH(doubles)){0};
            for (int v = 0; v < WIDTH(VECTORS); v++)
                sum[r][v] = FUSED(factor, column[v], sum[r][v], from != MOD_F64);
        }
    }
    EACH_ROW
    for (int r = 0; r < group; r++) {
        WIDTH(store_row)(&d[r / MMA_SIDE], low + LANE_OF(r % MMA_SIDE), to, sum[r]);
        for (int v = 0; v < WIDTH(VECTORS); v++)
            seen[r % MMA_WORDS] += sum[r][v];
    }
}

TARGET MMA_INLINE bool WIDTH(multiply_floats)(const struct product *x, enum ptx_mod from,
                                              enum ptx_mod to)
{
    WIDTH(doubles) seen[MMA_WORDS] = {{0}};
#define DO(rows) WIDTH(multiply_rows)(x, panel, first, rows, from, to, seen)
    EACH_GROUP(DO)
#undef DO
    seen[0] += seen[1] + seen[2] + seen[3];
    return HAS_NAN(seen[0]);
}

#define WAY(name, from, to)                                                                        \
    TARGET static bool WIDTH(name)(const struct product *x)                                        \
    {                                                                                              \
        return WIDTH(multiply_floats)(x, from, to);                                                \
    }
WAY(f32_of_f32, MOD_F32, MOD_F32)
WAY(f32_of_f16, MOD_F16, MOD_F32)
WAY(f16_of_f32, MOD_F32, MOD_F16)
WAY(f16_of_f16, MOD_F16, MOD_F16)
WAY(f64_of_f64, MOD_F64, MOD_F64)
#undef WAY

/* --- integers: products of 16 bits, added in pairs along k --- */

typedef int32_t WIDTH(integers) __attribute__((vector_size(COLUMNS * sizeof(uint64_t))));
typedef int16_t WIDTH(shorts) __attribute__((vector_size(COLUMNS * sizeof(uint64_t))));

/* Adds the products of each pair of elements to `sum`. */
TARGET MMA_INLINE void WIDTH(add_products)(WIDTH(integers) * sum, const WIDTH(longs) * x,
                                           const WIDTH(longs) * y)
{
#if COLUMNS == 8
    *sum += (WIDTH(integers))_mm512_madd_epi16((__m512i)*x, (__m512i)*y);
#elif COLUMNS == 4
    *sum += (WIDTH(integers))_mm256_madd_epi16((__m256i)*x, (__m256i)*y);
#elif defined(__SSE2__)
    *sum += (WIDTH(integers))_mm_madd_epi16((__m128i)*x, (__m128i)*y);
#else
    const WIDTH(shorts) a = (WIDTH(shorts)) * x, b = (WIDTH(shorts)) * y;
    for (int i = 0; i < 2 * COLUMNS; i++)
        (*sum)[i] += a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
#endif
}

/* Adds a row of C, wrapping or clamping, to sums whose pairs belong together. */
TARGET MMA_INLINE void WIDTH(finish_integers)(const struct pair *from, const struct pair *to,
                                              size_t lane, bool clamps, const WIDTH(integers) sum[])
{
    const size_t at = lane * sizeof(uint32_t);
    WIDTH(words) c[WIDTH(VECTORS)];
    WIDTH(load_words)(from->even + at, from->odd + at, c);
    for (int v = 0; v < WIDTH(VECTORS); v++) {
        const WIDTH(longs) both = (WIDTH(longs))sum[v];
        const WIDTH(words) add = __builtin_convertvector(both + (both >> 32), WIDTH(words)),
                           wrapped = add + c[v], end = (c[v] >> 31) + INT32_MAX,
                           beyond = 0 - (((wrapped ^ add) & (wrapped ^ c[v])) >> 31);
        c[v] = clamps ? (wrapped & ~beyond) | (end & beyond) : wrapped;
    }
    WIDTH(store_words)(to->even + at, to->odd + at, c);
}

TARGET MMA_INLINE void WIDTH(multiply_integer_rows)(const struct product *x, int panel, int first,
                                                    const int group)
{
    const mma_quad *a = (const mma_quad *)x->a + first,
                   *b = (const mma_quad *)x->b + panel * x->depth * MMA_SIDE;
    const int block = (panel * x->across + first) / MMA_SIDE;
    const size_t low = LANE_OF(first % MMA_SIDE);
    struct pair c[BLOCKS], d[BLOCKS];
    for (int i = 0; i * MMA_SIDE < group; i++) {
        c[i] = pair_of(&x->c, block + i, MOD_S32);
        d[i] = pair_of(&x->d, block + i, MOD_S32);
    }
    WIDTH(integers) sum[GROUP][WIDTH(VECTORS)] = {{{0}}};
    for (int k = 0; k < x->depth; k++, a += x->across, b += MMA_SIDE) {
        WIDTH(longs) column[WIDTH(VECTORS)];
        for (int v = 0; v < WIDTH(VECTORS); v++)
            memcpy(&column[v], b + v * COLUMNS, sizeof *column);
        EACH_ROW
        for (int r = 0; r < group; r++) {
            const WIDTH(longs) factor = a[r] - (WIDTH(longs)){0};
            for (int v = 0; v < WIDTH(VECTORS); v++)
                WIDTH(add_products)(&sum[r][v], &factor, &column[v]);
        }
    }
    EACH_ROW
    for (int r = 0; r < group; r++) {
        const size_t lane = low + LANE_OF(r % MMA_SIDE);
        WIDTH(finish_integers)(&c[r / MMA_SIDE], &d[r / MMA_SIDE], lane, x->clamps, sum[r]);
    }
}

TARGET static bool WIDTH(s32_of_s32)(const struct product *x)
{
#define DO(rows) WIDTH(multiply_integer_rows)(x, panel, first, rows)
    EACH_GROUP(DO)
#undef DO
    return false;
}

#undef FUSED
#undef WIDEN
#undef NARROW
#undef HAS_NAN
#undef LANE_OF
#undef BLOCKS
#undef EACH_GROUP
