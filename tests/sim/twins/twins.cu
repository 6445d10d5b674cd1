// Twins: small correct kernels, each with a version that has one fault. make_twins.py compiles each section to
// NAME.clean.ptx and NAME.broken.ptx, with CLEAN(…) and BROKEN(…) kept or left out.
//
//   //# NAME: KIND [grid=1] [block=64] [n=64] [shared=0] [raw] [sm=80]
//
// KIND is the finding that the broken twin must give and the clean twin must not. Every kernel is k(out, in, n): out has 4096
// ints, 0 (raw: not initialised), in has 4096 random ints.

//## common
#ifdef TWIN_BROKEN
#define CLEAN(...)
#define BROKEN(...) __VA_ARGS__
#else
#define CLEAN(...) __VA_ARGS__
#define BROKEN(...)
#endif
#define K extern "C" __global__ void k(int *out, const int *in, int n)
#define T ((int)threadIdx.x)
#define B ((int)blockIdx.x)
#define LANE (T & 31)
#define WARP (T >> 5)
static __device__ __forceinline__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ __forceinline__ void copy(void *to, const void *from) { asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at(to)), "l"(from) : "memory"); }
static __device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
#define WAIT(x) asm volatile("cp.async.wait_group " #x ";" ::: "memory")
#define WAIT_ALL() asm volatile("cp.async.wait_all;" ::: "memory")
#define BAR(id, count) asm volatile("bar.sync " #id ", " #count ";" ::: "memory")
#define ARRIVE(id, count) asm volatile("bar.arrive " #id ", " #count ";" ::: "memory")
#define STORE(how, p, v) asm volatile("st." #how ".global.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory")
#define LOAD(how, v, p) asm volatile("ld." #how ".global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory")
static __device__ __forceinline__ void mbar_init(unsigned long long *m, unsigned count) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(m)), "r"(count) : "memory"); }
static __device__ __forceinline__ void mbar_arrive(unsigned long long *m) { asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(at(m)) : "memory"); }
static __device__ __forceinline__ void mbar_wait(unsigned long long *m, unsigned parity)
{
    unsigned done;
    do
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(m)), "r"(parity) : "memory");
    while (!done);
}

//# missing_sync: race
K { __shared__ int s[64]; s[T] = in[T]; CLEAN(__syncthreads();) out[T] = s[63 - T]; }
//# missing_sync_before_reuse: race
K { __shared__ int s[64]; for (int i = 0; i < 4; i++) { s[T] = in[T + i]; __syncthreads(); out[T] += s[63 - T]; CLEAN(__syncthreads();) } }
//# sync_before_the_write: race
K { __shared__ int s[64]; BROKEN(__syncthreads();) s[T] = in[T]; CLEAN(__syncthreads();) out[T] = s[(T + 32) & 63]; }
//# reduction_without_sync: race
K { __shared__ int s[64]; s[T] = in[T]; __syncthreads(); for (int d = 32; d > 0; d /= 2) { if (T < d) s[T] += s[T + d]; CLEAN(__syncthreads();) } if (T == 0) out[0] = s[0]; }
//# reduction_last_warp: race
K { __shared__ int s[64]; s[T] = in[T]; __syncthreads(); if (T < 32) { for (int d = 32; d > 0; d /= 2) { int v = s[T] + s[(T + d) & 63]; CLEAN(__syncwarp();) s[T] = v; CLEAN(__syncwarp();) BROKEN(asm volatile("" ::: "memory");) } if (T == 0) out[0] = s[0]; } }
//# warp_without_syncwarp: race block=32
K { __shared__ int s[32]; s[T] = in[T]; CLEAN(__syncwarp();) BROKEN(asm volatile("" ::: "memory");) out[T] = s[31 - T]; }
//# syncwarp_of_too_few: race block=32
K { __shared__ int s[32]; s[T] = in[T]; if (T < 16) { CLEAN(__syncwarp();) BROKEN(__syncwarp(0xffff);) out[T] = s[T + 16]; } else { CLEAN(__syncwarp();) BROKEN(__syncwarp(0xffff0000);) out[T] = 0; } }
//# double_buffer: race
K { __shared__ int s[2][64]; for (int i = 0; i < 4; i++) { int b = CLEAN(i & 1) BROKEN(0); s[b][T] = in[T + i]; __syncthreads(); out[T] += s[b][63 - T]; } }
//# scan_in_place: race
K { __shared__ int s[64]; s[T] = in[T]; __syncthreads(); for (int d = 1; d < 64; d *= 2) { int v = T >= d ? s[T - d] : 0; CLEAN(__syncthreads();) s[T] += v; __syncthreads(); } out[T] = s[T]; }
//# histogram_plain: race
K { __shared__ int h[8]; if (T < 8) h[T] = 0; __syncthreads(); CLEAN(atomicAdd(&h[in[T] & 7], 1);) BROKEN(h[in[T] & 7]++;) __syncthreads(); if (T < 8) out[T] = h[T]; }
//# histogram_zeroed_late: race
K { __shared__ int h[8]; if (T < 8) h[T] = 0; CLEAN(__syncthreads();) atomicAdd(&h[T & 7], 1); __syncthreads(); if (T < 8) out[T] = h[T]; }
//# histogram_read_early: race
K { __shared__ int h[8]; if (T < 8) h[T] = 0; __syncthreads(); atomicAdd(&h[in[T] & 7], 1); CLEAN(__syncthreads();) if (T < 8) out[T] = h[T]; }
//# one_thread_fills: race
K { __shared__ int s; if (T == 0) s = in[5]; CLEAN(__syncthreads();) BROKEN(asm volatile("" ::: "memory");) out[T] = s + T; }
//# tile_loop: race
K { __shared__ int a[64], b[64]; int sum = 0; for (int p = 0; p < 4; p++) { a[T] = in[64 * p + T]; b[T] = in[64 * p + 63 - T]; __syncthreads(); for (int i = 0; i < 64; i++) sum += a[i] * b[(i + T) & 63]; CLEAN(__syncthreads();) } out[T] = sum; }
//# stencil_halo: race
K { __shared__ int s[66]; s[T + 1] = in[T + 1]; if (T == 0) { s[0] = in[0]; s[65] = in[65]; } CLEAN(__syncthreads();) out[T] = s[T] + s[T + 1] + s[T + 2]; }
//# byte_too_far: race
K { __shared__ char s[128]; s[T] = (char)T; s[T + CLEAN(64) BROKEN(1)] = (char)(T + 9); __syncthreads(); out[T] = s[T] + s[T + 1]; }
//# halves_of_a_word: race
K { __shared__ union { short h[64]; int w[32]; } s; s.h[T] = (short)T; CLEAN(__syncthreads();) if (T < 32) out[T] = s.w[31 - T]; }
//# wide_store_overlaps: race
K { __shared__ int4 s[17]; int *w = (int *)s; if (T < 16) s[T] = make_int4(T, T, T, T); CLEAN(__syncthreads();) if (T < 16) w[4 * T + 4] = T; __syncthreads(); out[T] = w[T]; }
//# same_value: same-value
K { __shared__ int s; CLEAN(if (T == 0)) s = n; __syncthreads(); out[T] = s; }
//# lanes_of_one_store: race
K { __shared__ int s; CLEAN(if (T == 0)) s = T; __syncthreads(); out[T] = s; }
//# shuffle_orders_nothing: race block=32
K { __shared__ int s[32]; s[T] = in[T]; CLEAN(__syncwarp();) int v = __shfl_sync(~0u, in[T], 3); asm volatile("" ::: "memory"); out[T] = s[T ^ 1] + v; }
//# vote_orders_nothing: race block=32
K { __shared__ int s[32]; s[T] = in[T]; CLEAN(__syncwarp();) int v = __ballot_sync(~0u, in[T] > 0); asm volatile("" ::: "memory"); out[T] = s[T ^ 1] + v; }
//# two_tiles_one_sync: race
K { __shared__ int a[64], b[64]; a[T] = in[T]; CLEAN(b[T] = in[T + 64];) __syncthreads(); BROKEN(b[T] = in[T + 64]; asm volatile("" ::: "memory");) out[T] = a[63 - T] + b[63 - T]; }
//# flag_in_shared_memory: race
K { __shared__ int data; __shared__ int flag; if (T == 0) flag = 0; __syncthreads(); if (T == 0) { data = in[3]; CLEAN(__threadfence_block();) BROKEN(asm volatile("" ::: "memory");) *(volatile int *)&flag = 1; } else if (T == 32) { while (!*(volatile int *)&flag) ; CLEAN(__threadfence_block();) BROKEN(asm volatile("" ::: "memory");) out[0] = data; } }

//# sync_in_a_branch: divergent-barrier
K { __shared__ int s[64]; s[T] = in[T]; if (CLEAN(n) BROKEN(LANE) < 100 BROKEN(- 84)) __syncthreads(); else out[T] = 1; BROKEN(asm volatile("bar.sync 2;" ::: "memory");) out[T + 64] = in[T]; }
//# two_branches_two_barriers: divergent-barrier
K { if (CLEAN(WARP) BROKEN(LANE) == 0) { out[T] = 1; asm volatile("bar.sync 1, 64; // one" ::: "memory"); } else { out[T] = 2; asm volatile("bar.sync 1, 64; // two" ::: "memory"); } }
//# sync_in_a_loop: divergent-barrier
K { int most = CLEAN(3) BROKEN(LANE < 7 ? 3 : 2); for (int i = 0; i < most; i++) { out[T] += i; __syncthreads(); } asm volatile("bar.sync 3;" ::: "memory"); }
//# lanes_at_two_barriers: divergent-barrier
K { if (CLEAN(WARP) BROKEN(LANE & 1)) asm volatile("bar.sync 1, 32;" ::: "memory"); else asm volatile("bar.sync 2, 32;" ::: "memory"); BROKEN(asm volatile("bar.sync 0;" ::: "memory");) }

//# count_above_the_block: barrier-count
K { asm volatile("bar.sync 1, %0;" ::"r"(CLEAN(64) BROKEN(96)) : "memory"); out[T] = 1; }
//# count_not_of_warps: barrier-count
K { int c = n; asm volatile("bar.sync 1, %0;" ::"r"(CLEAN(c) BROKEN(c - 16)) : "memory"); out[T] = 1; }
//# counts_differ: barrier-count block=96
K { int c = WARP == 0 ? CLEAN(96) BROKEN(64) : 96; asm volatile("bar.sync 1, %0;" ::"r"(c) : "memory"); out[T] = 1; }
//# no_such_barrier: barrier-id
K { int id = n; asm volatile("bar.sync %0;" ::"r"(CLEAN(id & 7) BROKEN(id)) : "memory"); out[T] = 1; }
//# red_and_sync: barrier-mixed
K { int p = 0; if (WARP == 0) asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; bar.red.popc.u32 %0, 1, 64, q; }" : "=r"(p) : "r"(T) : "memory"); else CLEAN(asm volatile("{ .reg .pred q; setp.ne.s32 q, %1, 0; bar.red.popc.u32 %0, 1, 64, q; } // too" : "=r"(p) : "r"(T) : "memory");) BROKEN(asm volatile("bar.sync 1, 64;" ::: "memory");) out[T] = p; }
//# arrive_elsewhere: deadlock
K { __shared__ int s[32]; if (WARP == 0) { s[LANE] = in[T]; CLEAN(ARRIVE(1, 64);) BROKEN(ARRIVE(2, 64);) BAR(3, 64); } else { BAR(1, 64); out[T] = s[LANE]; BAR(3, 64); } }
//# nobody_arrives: deadlock
K { __shared__ int s[32]; if (WARP == 0) { s[LANE] = in[T]; CLEAN(ARRIVE(1, 64);) BROKEN(BAR(0, 32);) BAR(3, 64); } else { BAR(1, 64); out[T] = s[LANE]; BAR(3, 64); } }
//# crossed_barriers: deadlock
K { if (WARP == 0) { BAR(1, 64); BAR(2, 64); } else { CLEAN(BAR(1, 64); BAR(2, 64);) BROKEN(BAR(2, 64); BAR(1, 64);) } out[T] = 1; }
//# waits_for_those_who_left: exited-thread
K { BROKEN(if (WARP == 1) return;) BAR(1, 64); out[T] = 1; }
//# producer_without_empty: race
K { __shared__ int s[32]; if (WARP == 0) { for (int i = 0; i < 3; i++) { CLEAN(if (i) BAR(2, 64);) s[LANE] = in[i]; ARRIVE(1, 64); } CLEAN(BAR(2, 64);) } else { for (int i = 0; i < 3; i++) { BAR(1, 64); out[LANE] += s[31 - LANE]; CLEAN(ARRIVE(2, 64);) BROKEN(if (i == 9) ARRIVE(2, 64);) } } }
//# barrier_of_the_wrong_warps: race block=96
K { __shared__ int s[96]; s[T] = in[T]; CLEAN(BAR(1, 96);) BROKEN(if (WARP < 2) BAR(1, 64);) if (WARP == 0) out[T] = s[T + 64]; }
//# written_after_the_arrival: race
K { __shared__ int s[32]; if (WARP == 0) { CLEAN(s[LANE] = in[T];) ARRIVE(1, 64); BROKEN(s[LANE] = in[T];) } else { BAR(1, 64); out[T] = s[LANE]; } }

//# copy_without_commit: async-race
K { __shared__ int s[64]; copy(&s[T], &in[T]); CLEAN(commit();) WAIT(0); out[T] = s[T]; BROKEN(WAIT_ALL();) }
//# copy_without_wait: async-race
K { __shared__ int s[64]; copy(&s[T], &in[T]); commit(); CLEAN(WAIT(0);) __syncthreads(); out[T] = s[63 - T]; WAIT(0); }
//# copy_waited_for_too_few: async-race
K { __shared__ int s[128]; copy(&s[T], &in[T]); commit(); copy(&s[T + 64], &in[T + 64]); commit(); CLEAN(WAIT(0);) BROKEN(WAIT(1);) __syncthreads(); out[T] = s[63 - T] + s[127 - T]; WAIT(0); }
//# copy_without_barrier: race
K { __shared__ int s[64]; copy(&s[T], &in[T]); commit(); WAIT(0); CLEAN(__syncthreads();) out[T] = s[63 - T]; }
//# copy_over_readers: async-race
K { __shared__ int s[64]; s[T] = in[T]; __syncthreads(); out[T] = s[63 - T]; CLEAN(__syncthreads();) copy(&s[T], &in[T + 64]); commit(); WAIT(0); __syncthreads(); out[T] += s[T]; }
//# copy_of_what_changes: async-race
K { __shared__ int s[64]; out[T] = 1; copy(&s[T], &out[T]); commit(); CLEAN(WAIT(0);) out[T] = 2; BROKEN(WAIT(0);) out[T + 64] = s[T]; }
//# copy_left_pending: async-pending
K { __shared__ int s[64]; copy(&s[T], &in[T]); commit(); CLEAN(WAIT(0);) out[T] = 1; }
//# copy_never_committed: async-pending
K { __shared__ int s[64]; copy(&s[T], &in[T]); CLEAN(commit();) WAIT(0); out[T] = 1; }
//# copy_pipeline_tail: async-race
K { __shared__ int s[2][64]; int sum = 0; copy(&s[0][T], &in[T]); commit(); for (int i = 0; i < 4; i++) { if (i < 3) copy(&s[(i + 1) & 1][T], &in[64 * i + 64 + T]); CLEAN(commit();) BROKEN(if (i < 3) commit();) WAIT(1); __syncthreads(); sum += s[i & 1][63 - T]; __syncthreads(); } WAIT(0); out[T] = sum; }
//# copy_pipeline_stage: async-race
K { __shared__ int s[3][64]; int sum = 0; copy(&s[0][T], &in[T]); commit(); copy(&s[1][T], &in[64 + T]); commit(); for (int i = 0; i < 6; i++) { WAIT(1); __syncthreads(); copy(&s[(i + CLEAN(2) BROKEN(3)) % 3][T], &in[64 * i + 128 + T]); commit(); sum += s[i % 3][63 - T]; } WAIT(0); out[T] = sum; }
//# copy_and_store: async-race
K { __shared__ int s[64]; copy(&s[T], &in[T]); commit(); CLEAN(WAIT(0);) s[T] = 5; WAIT(0); out[T] = s[T]; }

//# flag_without_fence: race grid=2 block=32
K { if (T) return; if (B == 0) { out[64] = 7; CLEAN(__threadfence();) STORE(relaxed.gpu, out, 1); } else { int f; do LOAD(relaxed.gpu, f, out); while (!f); CLEAN(__threadfence();) out[65] = out[64]; } }
//# release_at_block_scope: scope grid=2 block=32
K { if (T) return; if (B == 0) { out[64] = 7; CLEAN(STORE(release.gpu, out, 1);) BROKEN(STORE(release.cta, out, 1);) } else { int f; do LOAD(acquire.gpu, f, out); while (!f); out[65] = out[64]; } }
//# acquire_at_block_scope: scope grid=2 block=32
K { if (T) return; if (B == 0) { out[64] = 7; STORE(release.gpu, out, 1); } else { int f; do { CLEAN(LOAD(acquire.gpu, f, out);) BROKEN(LOAD(acquire.cta, f, out);) } while (!f); out[65] = out[64]; } }
//# fence_at_block_scope: race grid=2 block=32
K { if (T) return; if (B == 0) { out[64] = 7; CLEAN(__threadfence();) BROKEN(__threadfence_block();) STORE(relaxed.gpu, out, 1); } else { int f; do LOAD(acquire.gpu, f, out); while (!f); out[65] = out[64]; } }
//# read_without_acquire: race grid=2 block=32
K { if (T) return; if (B == 0) { out[64] = 7; STORE(release.gpu, out, 1); } else { int f; do { CLEAN(LOAD(acquire.gpu, f, out);) BROKEN(LOAD(relaxed.gpu, f, out);) } while (!f); out[65] = out[64]; } }
//# weak_flag: race grid=2 block=32
K { if (T) return; if (B == 0) { out[64] = 7; __threadfence(); CLEAN(STORE(relaxed.gpu, out, 1);) BROKEN(STORE(weak, out, 1);) } else { int f; do LOAD(acquire.gpu, f, out); while (!f); } }
//# atomic_at_block_scope: scope grid=2
K { CLEAN(atomicAdd(&out[T & 3], 1);) BROKEN(atomicAdd_block(&out[T & 3], 1);) }
//# counter_plain: race grid=2
K { if (T == 0) { CLEAN(atomicAdd(&out[0], 1);) BROKEN(out[0]++;) } }
//# atomic_and_plain_read: race grid=2
K { atomicAdd(&out[0], 1); out[64 * B + T + 64] = CLEAN(atomicAdd(&out[0], 0)) BROKEN(out[0]); }
//# last_block_without_fence: race grid=4
K { __shared__ int last; out[64 * B + T + 1] = in[T]; __syncthreads(); if (T == 0) { CLEAN(__threadfence();) last = atomicAdd(&out[0], 1) == (int)gridDim.x - 1; CLEAN(__threadfence();) } __syncthreads(); if (last) { int s = 0; for (unsigned b = 0; b < gridDim.x; b++) s += out[64 * b + T + 1]; out[1000 + T] = s; } }
//# last_block_without_sync: race grid=4
K { __shared__ int last; out[64 * B + T + 1] = in[T]; BROKEN(__threadfence();) CLEAN(__syncthreads();) if (T == 0) { CLEAN(__threadfence();) last = atomicAdd(&out[0], 1) == (int)gridDim.x - 1; __threadfence(); } __syncthreads(); if (last) { int s = 0; for (unsigned b = 0; b < gridDim.x; b++) s += out[64 * b + T + 1]; out[1000 + T] = s; } }
//# blocks_write_one_place: race grid=2
K { out[CLEAN(64 * B +) T] = B; }
//# stencil_in_place: race grid=2
K { int i = 64 * B + T; int *to = CLEAN(out + 1024) BROKEN(out); int v = out[i] + out[(i + 1) & 127]; CLEAN() __syncthreads(); to[i] = v; }
//# tiles_overlap: race grid=2
K { int i = CLEAN(64) BROKEN(63) * B + T; out[i] = B; }
//# lock_without_fences: race grid=4 block=32
K { if (T == 0) { while (atomicCAS(&out[0], 0, 1)) ; CLEAN(__threadfence();) out[1]++; CLEAN(__threadfence();) atomicExch(&out[0], 0); } }
//# lock_opened_by_a_store: race grid=4 block=32
K { if (T == 0) { int old; do asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(out) : "memory"); while (old); out[1]++; CLEAN(STORE(release.gpu, out, 0);) BROKEN(STORE(relaxed.gpu, out, 0);) } }
//# atomics_of_two_widths: scope grid=2 block=32
K { if (T == 0) { if (B == 0) atomicAdd((unsigned long long *)out, 1ull); else CLEAN(atomicAdd((unsigned long long *)out, 2ull);) BROKEN(atomicAdd(out, 2);) } }
//# volatile_and_plain: race warns=volatile grid=2 block=32
K { if (T == 0) { if (B == 0) *(volatile int *)out = 1; else out[1] = CLEAN(*(volatile int *)out) BROKEN(*out); } }

//# index_by_one: out-of-bounds n=4096 block=32
K { for (int i = T; i BROKEN(<=) CLEAN(<) n; i += 32) out[i] = i; }
//# index_below: out-of-bounds
K { out[T] = in[T BROKEN(- 1)]; }
//# guard_missing: out-of-bounds grid=3 n=4100
K { int i = 2048 * B + 32 * T; CLEAN(if (i < 4096)) out[i] = in[0]; }
//# shared_by_one: out-of-bounds
K { __shared__ int s[64]; s[T] = 0; __syncthreads(); int *p = s; asm volatile("" : "+l"(p)); p[T BROKEN(+ 1)] = 1; __syncthreads(); out[T] = s[T]; }
//# no_memory: out-of-bounds
K { int *p = CLEAN(out) BROKEN(out - (n == 64 ? (size_t)out / 4 : 0)); p[T] = 1; }
//# wide_load_misaligned: misaligned
K { const int4 *p = (const int4 *)(in + CLEAN(4) BROKEN(1)); out[T] = p[T].x + p[T].w; }
//# shared_pair_misaligned: misaligned
K { __shared__ int s[132]; s[2 * T] = 1; s[2 * T + 1] = 1; if (T < 4) s[128 + T] = 0; __syncthreads(); const int2 *p = (const int2 *)(s + CLEAN(2) BROKEN(1)); out[T] = p[T].x + p[T].y; }
//# short_misaligned: misaligned
K { const short *p = (const short *)((const char *)in + CLEAN(2) BROKEN(1)); out[T] = p[T]; }
//# shared_not_filled: uninitialised
K { __shared__ int s[64]; if (T < CLEAN(64) BROKEN(63)) s[T] = in[T]; __syncthreads(); out[T] = s[63 - T]; }
//# shared_byte_not_filled: uninitialised
K { __shared__ char s[256]; for (int i = 0; i < CLEAN(4) BROKEN(3); i++) s[4 * T + i] = (char)i; __syncthreads(); out[T] = ((const int *)s)[T]; }
//# local_not_filled: uninitialised
K { int a[16]; for (int i = BROKEN(1) CLEAN(0); i < 16; i++) a[(i + n) & 15] = i; out[T] = a[(in[T] + n) & 15] + a[(T + n) & 15]; }
//# global_not_filled: uninitialised raw
K { CLEAN(out[T] = 1;) out[T] += in[T]; }
//# constant_written: read-only
__constant__ int table[64];
K { int *p = CLEAN(out) BROKEN((int *)table); asm volatile("" : "+l"(p)); p[T] = table[0]; }
//# stops_itself: trap
K { BROKEN(if (T == 3) __trap();) out[T] = 1; }

//# mbarrier_not_waited_for: race
K { __shared__ unsigned long long m; __shared__ int s[32]; if (T == 0) mbar_init(&m, 32); __syncthreads(); if (WARP == 0) { s[LANE] = in[T]; mbar_arrive(&m); } else { CLEAN(mbar_wait(&m, 0);) out[T] = s[31 - LANE]; } }
//# mbarrier_of_the_phase_before: race
K { __shared__ unsigned long long m; __shared__ int s[32]; if (T == 0) mbar_init(&m, 32); __syncthreads(); if (WARP == 0) { s[LANE] = in[T]; mbar_arrive(&m); } else { mbar_wait(&m, CLEAN(0) BROKEN(1)); out[T] = s[31 - LANE]; } }
//# mbarrier_arrives_too_soon: race
K { __shared__ unsigned long long m; __shared__ int s[32]; if (T == 0) mbar_init(&m, 32); __syncthreads(); if (WARP == 0) { BROKEN(mbar_arrive(&m);) s[LANE] = in[T]; CLEAN(mbar_arrive(&m);) } else { mbar_wait(&m, 0); out[T] = s[31 - LANE]; } }
//# mbarrier_waits_for_too_many: deadlock
K { __shared__ unsigned long long m; if (T == 0) mbar_init(&m, CLEAN(32) BROKEN(33)); __syncthreads(); if (WARP == 0) mbar_arrive(&m); else { mbar_wait(&m, 0); out[T] = 1; } }
//# mbarrier_used_before_init: race
K { __shared__ unsigned long long m; if (T == 0) mbar_init(&m, 64); CLEAN(__syncthreads();) BROKEN(if (WARP == 0) __syncwarp(); else { int f; do LOAD(relaxed.gpu, f, out); while (!f); } if (T == 0) STORE(relaxed.gpu, out, 1);) mbar_arrive(&m); }

//# same_value_then_read: race warns=same-value block=96
K { __shared__ int s; int f; if (T == 0) { s = n; STORE(relaxed.gpu, out + 9, 1); } if (T == 32) { do LOAD(relaxed.gpu, f, out + 9); while (!f); s = n; } CLEAN(BAR(1, 96);) BROKEN(if (WARP) BAR(1, 64);) if (T == 64) out[0] = s; BAR(0, 96); }
//# same_value_then_atomic: race warns=same-value block=96
K { __shared__ int s; int f; if (T == 0) { s = n; STORE(relaxed.gpu, out + 9, 1); } if (T == 32) { do LOAD(relaxed.gpu, f, out + 9); while (!f); s = n; } CLEAN(BAR(1, 96);) BROKEN(if (WARP) BAR(1, 64);) if (T == 64) atomicAdd(&s, 1); BAR(0, 96); }
//# lanes_write_two_values: race block=32
K { __shared__ int s; if (T < 3) { CLEAN(if (T == 2)) s = T == 2 ? 7 : 1; } __syncthreads(); out[T] = s; }
//# bytes_of_a_word_differ: race
K { __shared__ unsigned char s[32]; CLEAN(if (WARP)) s[LANE] = WARP && (LANE & 3) ? 1 : 0; __syncthreads(); out[T] = s[LANE]; }
//# value_of_a_write_before: race block=96
K { __shared__ int s; int f; if (T == 0) { asm volatile("st.relaxed.cta.shared.s32 [%0], 5;" ::"r"(at(&s)) : "memory"); STORE(relaxed.gpu, out + 9, 1); } if (T == 32) { do LOAD(relaxed.gpu, f, out + 9); while (!f); asm volatile("st.relaxed.cta.shared.s32 [%0], 6;" ::"r"(at(&s)) : "memory"); STORE(relaxed.gpu, out + 10, 1); } CLEAN(BAR(1, 96);) BROKEN(if (WARP) BAR(1, 64);) if (T == 64) s = 6; BAR(0, 96); }
//# barrier_without_those_who_left: race block=96
K { __shared__ int s[96]; s[T] = in[T]; CLEAN(BAR(1, 96);) BROKEN(if (WARP == 0) return; BAR(1, 64);) if (WARP == 2) out[T] = s[T - 64]; }
//# readers_of_many_blocks: race grid=80 block=32
K { if (T) return; out[600 + B] = out[500]; CLEAN(__threadfence();) BROKEN(if (B) __threadfence();) int c = atomicAdd(out, 1); __threadfence(); if (c == 79) out[500] = 1; }
//# flags_of_two_bytes: race grid=3 block=32
K { unsigned short *flag = (unsigned short *)out, f; if (T) return; if (B < 2) { out[64 + B] = 7; CLEAN(asm volatile("st.release.gpu.global.u16 [%0], 1;" ::"l"(flag + B) : "memory");) BROKEN(asm volatile("st.relaxed.gpu.global.u16 [%0], 1;" ::"l"(flag + B) : "memory");) } else { for (int i = 0; i < 2; i++) do asm volatile("ld.acquire.gpu.global.u16 %0, [%1];" : "=h"(f) : "l"(flag + i) : "memory"); while (!f); out[70] = out[64] + out[65]; } }
//# flag_read_in_part: scope grid=2 block=32
K { int f; unsigned short h; if (T) return; if (B == 0) { out[64] = 7; STORE(release.gpu, out, 0x10001); } else { CLEAN(do LOAD(acquire.gpu, f, out); while (!f);) BROKEN(do asm volatile("ld.acquire.gpu.global.u16 %0, [%1];" : "=h"(h) : "l"(out) : "memory"); while (!h);) out[65] = out[64]; } }

//# copies_waited_for_apart: async-race block=32
K { __shared__ int s[32]; copy(&s[T], &in[T]); commit(); int v = 0, f; if (T < 16) { WAIT(0); __syncwarp(0xffff); v = s[T ^ 1]; do LOAD(relaxed.gpu, f, out + 9); while (!f); v += s[T ^ 3]; } else { CLEAN(WAIT(0);) if (T == 16) STORE(relaxed.gpu, out + 9, 1); __syncwarp(0xffff0000); v = s[T ^ 1]; WAIT(0); } out[T + 64] = v; }
//# copies_arrive: async-race
K { __shared__ unsigned long long m; __shared__ int s[32]; if (T == 0) mbar_init(&m, 32); __syncthreads(); if (WARP == 0) { copy(&s[T], &in[T]); asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(at(&m)) : "memory"); mbar_arrive(&m); } CLEAN(mbar_wait(&m, 0);) BROKEN(__syncthreads();) out[T] = s[31 - LANE]; }
//# copies_arrive_for_others: async-race
K { __shared__ unsigned long long m; __shared__ int s[32]; if (T == 0) mbar_init(&m, 32); __syncthreads(); if (WARP == 0) { copy(&s[T], &in[T]); asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at(&m)) : "memory"); } CLEAN(mbar_wait(&m, 0);) BROKEN(if (WARP) mbar_wait(&m, 0);) out[T] = s[LANE]; }
//# store_behind_the_copies: race
K { __shared__ unsigned long long m; __shared__ int s[32], t[32]; if (T == 0) mbar_init(&m, 32); __syncthreads(); if (WARP == 0) { CLEAN(t[T] = in[T];) copy(&s[T], &in[T]); BROKEN(t[T] = in[T];) asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at(&m)) : "memory"); } else { mbar_wait(&m, 0); out[T] = s[LANE] + t[LANE]; } }

//# mbarrier_relaxed_arrival: race sm=90
K { __shared__ unsigned long long m; __shared__ int s; if (T == 0) mbar_init(&m, 1); __syncthreads(); if (T == 0) { __threadfence_block(); *(volatile int *)&s = n; CLEAN(__threadfence();) asm volatile("{ .reg .b64 q; mbarrier.arrive.relaxed.cta.shared.b64 q, [%0]; }" ::"r"(at(&m)) : "memory"); } if (T == 32) { mbar_wait(&m, 0); out[0] = s; } }
//# mbarrier_never_made: mbarrier
K { __shared__ unsigned long long m; __shared__ double d; if (T == 0) { CLEAN(mbar_init(&m, 64);) BROKEN(m = 0x4000000000000000ull | 64 | 64 << 20;) d = 1; } __syncthreads(); mbar_arrive(&m); mbar_wait(&m, 0); out[T] = (int)d; }
//# mbarrier_unmade: mbarrier
K { __shared__ unsigned long long m; if (T == 0) mbar_init(&m, 64); __syncthreads(); CLEAN(mbar_arrive(&m); mbar_wait(&m, 0); __syncthreads();) if (T == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at(&m)) : "memory"); BROKEN(__syncthreads(); mbar_arrive(&m);) }
//# mbarrier_made_twice: mbarrier
K { __shared__ unsigned long long m; for (int i = 0; i < 2; i++) { if (T == 0) mbar_init(&m, 64); __syncthreads(); mbar_arrive(&m); mbar_wait(&m, 0); __syncthreads(); CLEAN(if (T == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at(&m)) : "memory");) } }
//# mbarrier_made_by_all: mbarrier
K { __shared__ unsigned long long m; if (WARP == 0) { CLEAN(if (T == 0)) mbar_init(&m, 64); } __syncthreads(); mbar_arrive(&m); mbar_wait(&m, 0); out[T] = 1; }
//# mbarrier_read_as_data: mbarrier
K { __shared__ unsigned long long m; if (T == 0) mbar_init(&m, 64); __syncthreads(); mbar_arrive(&m); mbar_wait(&m, 0); __syncthreads(); CLEAN(if (T == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at(&m)) : "memory"); __syncthreads();) out[T] = ((volatile int *)&m)[T & 1]; }
//# mbarrier_written_as_data: mbarrier
K { __shared__ union { unsigned long long m; int s[64]; } u; if (T == 0) mbar_init(&u.m, 64); __syncthreads(); mbar_arrive(&u.m); mbar_wait(&u.m, 0); __syncthreads(); CLEAN(if (T == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(at(&u.m)) : "memory"); __syncthreads();) u.s[T] = in[T]; __syncthreads(); out[T] = u.s[63 - T]; }
//# mbarrier_for_nobody: mbarrier
K { __shared__ unsigned long long m; if (T == 0) mbar_init(&m, CLEAN(n) BROKEN(n - 64)); __syncthreads(); mbar_arrive(&m); mbar_wait(&m, 0); out[T] = 1; }
//# mbarrier_with_too_many: mbarrier
K { __shared__ unsigned long long m; if (T == 0) { mbar_init(&m, 2); CLEAN(mbar_arrive(&m); mbar_arrive(&m);) BROKEN(asm volatile("{ .reg .b64 s; mbarrier.arrive.noComplete.shared.b64 s, [%0], 3; }" ::"r"(at(&m)) : "memory");) } out[T] = 1; }
//# mbarrier_arrival_of_none: mbarrier sm=90
K { __shared__ unsigned long long m; int c = CLEAN(n) BROKEN(n - 64); if (T == 0) { mbar_init(&m, 64); asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0], %1; }" ::"r"(at(&m)), "r"(c) : "memory"); } out[T] = 1; }
//# mbarrier_of_none_left: mbarrier
K { __shared__ unsigned long long m; if (T == 0) { mbar_init(&m, CLEAN(2) BROKEN(1)); asm volatile("{ .reg .b64 s; mbarrier.arrive_drop.shared.b64 s, [%0]; }" ::"r"(at(&m)) : "memory"); } out[T] = 1; }
//# mbarrier_may_not_complete: mbarrier
K { __shared__ unsigned long long m; if (T == 0) { mbar_init(&m, CLEAN(3) BROKEN(2)); asm volatile("{ .reg .b64 s; mbarrier.arrive.noComplete.shared.b64 s, [%0], 2; }" ::"r"(at(&m)) : "memory"); } out[T] = 1; }
//# mbarrier_of_too_many_bytes: mbarrier sm=90
K { __shared__ unsigned long long m; unsigned bytes = CLEAN(n) BROKEN(n << 14); if (T == 0) { mbar_init(&m, 1); asm volatile("mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], %1;" ::"r"(at(&m)), "r"(bytes) : "memory"); } out[T] = 1; }
//# mbarrier_phase_not_waited_for: mbarrier
K { __shared__ unsigned long long m; __shared__ int s[32]; if (T == 0) mbar_init(&m, 32); __syncthreads(); if (WARP == 0) { for (int i = 0; i < 2; i++) { s[LANE] = in[i]; mbar_arrive(&m); CLEAN(mbar_wait(&m, i);) BROKEN(__syncwarp();) } } }
//# mbarrier_misaligned: misaligned
K { __shared__ unsigned long long m[2]; if (T == 0) mbar_init((unsigned long long *)((char *)m CLEAN(+ 8) BROKEN(+ 4)), 1); out[T] = 1; }
//# mbarrier_in_global_memory: mbarrier
K { __shared__ unsigned long long m; unsigned long long *p = CLEAN(&m) BROKEN((unsigned long long *)out); if (T == 0) asm volatile("mbarrier.init.b64 [%0], 1;" ::"l"(p) : "memory"); }
//# mbarrier_bytes_never_come: deadlock sm=90
K { __shared__ unsigned long long m; if (T == 0) mbar_init(&m, 1); __syncthreads(); if (T == 0) { asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], 16; }" ::"r"(at(&m)) : "memory"); asm volatile("mbarrier.complete_tx.relaxed.cta.shared.b64 [%0], %1;" ::"r"(at(&m)), "n"(CLEAN(16) BROKEN(8)) : "memory"); } if (T == 32) mbar_wait(&m, 0); }
//# mbarrier_wrong_parity: deadlock
K { __shared__ unsigned long long m; if (T == 0) mbar_init(&m, 64); __syncthreads(); for (int i = 0; i < 3; i++) { mbar_arrive(&m); mbar_wait(&m, CLEAN(i & 1) BROKEN(i == 2 ? 1 : i)); } mbar_wait(&m, CLEAN(0) BROKEN(1)); out[T] = 1; }

//# lanes_that_leave: exited-thread
K { if (LANE >= 16) { if (WARP == 0) for (int i = 0; i < n; i++) out[T + 64 * (i & 31)] = i; return; } BROKEN(if (WARP) return;) BAR(1, 64); out[T] = 1; }
//# counts_of_lanes: barrier-count
K { int c = LANE < 16 ? 64 : CLEAN(64) BROKEN(32); asm volatile("barrier.sync 1, %0;" ::"r"(c) : "memory"); out[T] = 1; }

//# volatile_different_values: volatile-race grid=2 block=32
K { if (T == 0) { if (B == 0) *(volatile int *)out = 1; CLEAN(else out[1] = 2;) BROKEN(else *(volatile int *)out = 2;) } }
//# volatile_of_one_store: volatile-race block=32
K { if (T < CLEAN(1) BROKEN(2)) *(volatile int *)out = T; }
//# volatile_same_value: volatile grid=2 block=32
K { if (T == 0) { CLEAN(if (B == 0)) *(volatile int *)out = 1; } }
//# volatile_warp_reduce: volatile
K { __shared__ volatile int s[64]; s[T] = in[T]; __syncthreads(); if (T < 32) { for (int d = 32; d > 0; d /= 2) { int v = T < d ? s[T + d] : 0; CLEAN(__syncwarp();) s[T] += v; CLEAN(__syncwarp();) } } if (T == 0) out[0] = s[0]; }
//# volatile_data_of_a_flag: volatile grid=2 block=32
K { volatile int *flag = out, *data = out + 1; if (T) return; if (B == 0) { *data = in[3]; CLEAN(__threadfence();) *flag = 1; } else { while (!*flag) ; CLEAN(__threadfence();) out[2] = *data; } }
//# volatile_flag_with_a_body: volatile grid=2 block=32
K { volatile int *flag = out; if (T) return; if (B == 0) { __threadfence(); *flag = in[3] | 1; } else { int turns = 0; CLEAN(while (!*flag)) BROKEN(if (!*flag)) { turns += in[turns & 63]; __nanosleep(20); } out[2] = turns; } }
//# volatile_flag_set_back: volatile-race grid=2 block=32
K { volatile int *flag = out; if (T) return; if (B == 0) { *flag = 1; while (*flag != 2) ; out[3] = 1; } else { CLEAN(while (*flag != 1) ;) *flag = 2; } }

//# barrier_skipped: divergent-barrier
K { __shared__ int s[64]; if (T < CLEAN(32) BROKEN(48)) { s[T] = in[T]; __syncthreads(); } if (T == 0) out[0] = s[31]; }
//# barrier_skipped_in_a_loop: divergent-barrier
K { __shared__ int s[64]; s[T] = 0; __syncthreads(); for (int i = T; i < n + CLEAN(32) BROKEN(48); i += 64) { s[T] += in[i]; __syncthreads(); } if (T == 0) out[0] = s[0]; }
//# barrier_skipped_by_else: divergent-barrier
K { __shared__ int s[64]; s[T] = in[T]; if (T < 48) { __syncthreads(); out[T] = s[T ^ 1]; } else { atomicAdd(&out[64 + T], 7); CLEAN(return;) } out[128 + T] = 1; }
//# barrier_skipped_in_a_function: divergent-barrier
static __device__ __noinline__ int late(int *s, int v, int n) { if (T >= n) return v; __syncthreads(); return s[T ^ 1]; }
K { __shared__ int s[64]; s[T] = in[T]; int v = late(s, 5, CLEAN(n) BROKEN(n - 16)); out[T] = v; }
//# barrier_after_a_return: race
K { __shared__ int s[64]; if (T >= n - 10) { if (T & 1) out[T + 64] = in[T]; return; } for (int i = 0; i < 3; i++) { s[T] = in[T + i]; if (in[T] == 12345) return; __syncthreads(); out[T] += s[T ^ 1] + i; CLEAN(__syncthreads();) } }
//# not_in_its_mask: warp-sync block=32
K { __shared__ int s[32]; unsigned m = __ballot_sync(~0u, T < 16); if (T < CLEAN(16) BROKEN(17)) { s[T] = T; __syncwarp(m); out[T] = s[T & 7]; } }
//# shuffle_not_in_its_mask: warp-sync block=32
K { unsigned m = __ballot_sync(~0u, T < 16); if (T < CLEAN(16) BROKEN(17)) out[T] = __shfl_sync(m, in[T], 3); }

//# tile_of_two_warps: race block=64
#pragma push_macro("T")
#undef T
#include <cooperative_groups.h>
#pragma pop_macro("T")
K { __shared__ int s[64]; __shared__ cooperative_groups::block_tile_memory<64> scratch; auto tile = cooperative_groups::tiled_partition<64>(cooperative_groups::this_thread_block(scratch)); s[T] = in[T]; CLEAN(tile.sync();) BROKEN(__syncwarp();) out[T] = s[63 - T] + tile.any(in[T] == 3); }
//# fence_of_the_reader: race grid=4 block=32
K { unsigned *done = (unsigned *)out; bool last; if (T == 0) { out[1 + B] = in[B]; __threadfence(); last = atomicInc(done, 3) == 3; CLEAN(__threadfence();) if (last) out[9] = out[1] + out[2] + out[3] + out[4]; } }

//# undefined_not_selected: uninitialised
static __device__ __noinline__ bool odd(int i, int &v) { if (i & 1) { v = i; return true; } return false; }
K { int v; bool is = odd(in[T], v); out[T] = CLEAN(is ? v : -1) BROKEN(is ? -1 : v); }
//# undefined_decides: uninitialised
K { __shared__ int s[64]; if (T < 40) s[T] = in[T]; __syncthreads(); int v = s[T]; if (CLEAN(T < 40 &&) v > 5) atomicAdd(&out[T], 1); }
//# undefined_address: uninitialised
K { __shared__ int s[64]; if (T < 40) s[T] = in[T] & 63; __syncthreads(); int v = s[T]; out[T] = in[CLEAN(T < 40 ? v : 0) BROKEN(v & 63)]; }
//# undefined_in_a_sum: uninitialised
K { __shared__ int s[64]; if (T < 40) s[T] = in[T]; __syncthreads(); int v = 3 * s[T] + in[T]; out[T] = CLEAN(T < 40 ? v : 0) BROKEN(v); }
//# undefined_to_another_lane: uninitialised block=32
K { __shared__ int s[32]; if (T < 16) s[T] = in[T]; __syncwarp(); int v = __shfl_xor_sync(~0u, s[T], CLEAN(1) BROKEN(16)); if (T < 16) out[T] = v; }
//# undefined_argument: uninitialised
static __device__ __noinline__ int second(int a, int b) { return a ? a + b : 7; }
K { __shared__ int s[64]; if (T < 40) s[T] = in[T]; __syncthreads(); out[T] = second(CLEAN(T < 40) BROKEN(1), s[T]); }
//# undefined_in_a_struct: uninitialised
struct pair { long long a; char b; int c; };
static __device__ __noinline__ void make(pair *p, int v, bool all) { p->a = v; p->b = 3; if (all) p->c = v; }
K { pair p; make(&p, in[T], CLEAN(true) BROKEN(T < 32)); pair q = p; out[T] = (int)q.a + q.b + q.c; }
//# shuffle_from_no_lane: uninitialised block=48
K { int v = in[T]; int lanes = T < 32 ? 32 : 16; for (int o = 16; o; o >>= 1) { int u = __shfl_down_sync(~0u, v, o); CLEAN(if (LANE + o < lanes)) v = min(v, u); } if (LANE == 0) out[WARP] = v; }
//# shuffle_from_outside_the_mask: uninitialised block=32
K { int v = in[T]; if (T < 16) { int u = __shfl_sync(0xffff, v, CLEAN(T ^ 1) BROKEN(T + 16)); out[T] = u; } else { int u = __shfl_sync(0xffff0000u, v, T); out[T] = u; } }
//# shuffle_from_one_who_left: uninitialised block=32
K { if (T >= 20) return; int u = __shfl_down_sync(~0u, in[T], 4); if (T < CLEAN(16) BROKEN(17)) out[T] = u; }
//# undefined_copies_in_local_memory: uninitialised
K { int v; asm volatile("{ .reg .b32 a, b; .local .align 8 .b8 d[32]; ld.local.v2.b32 {a, b}, [d]; st.local.b32 [d+20], %1; st.local.v2.b32 [d+8], {a, b}; st.local.b32 [d+16], a; ld.local.b32 %0, [d+" CLEAN("20") BROKEN("16") "]; }" : "=r"(v) : "r"(T)); out[T] = v; }
//# undefined_bits_of_a_field: uninitialised
K { int v; asm volatile("{ .reg .b32 a, b; .local .align 8 .b8 d[8]; ld.local.b32 a, [d]; and.b32 a, a, 255; shl.b32 b, %1, 8; or.b32 a, a, b; st.local.b32 [d], a; ld.local.b32 a, [d" BROKEN("+4") "]; shr.u32 %0, a, 8; }" : "=r"(v) : "r"(T)); out[T] = v; }
