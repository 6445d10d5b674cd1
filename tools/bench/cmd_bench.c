/* Command bench: chooses the kind of bench, and declares the options. */
#include "bench/bench.h"
#include "cli/shapes.h"
#include "cli/commands.h"
#include "cli/target.h"
#include "cli/tuned.h"

#include <string.h>

/* Options of bench --device cuda only. */
static const char *const of_cuda[] = {"seconds", "load", "triton", NULL};

/* Recognises `bench --device sim [FILE]`, or its older form `bench sim [FILE]`. Sets *word to
 * the index of FILE. */
static bool is_of_simulator(const struct options *given, const char *device, int *word)
{
    *word = given->word_count > 0 && strcmp(given->words[0], "sim") == 0;
    return *word || (device && strcmp(device, "sim") == 0);
}

static int bench_run(const struct command *self, const struct options *given)
{
    const char *device = options_value(given, "device");
    if (options_has(given, "store") && !options_has(given, "tuned") && !options_has(given, "best"))
        return usage_error(NULL, self, "--store is where --tuned looks: give that too, or --best");
    int word;
    if (is_of_simulator(given, device, &word))
        return bench_simulator(self, given, word);
    if (device && (strcmp(device, "cuda") == 0 || strncmp(device, "cuda:", 5) == 0))
        return bench_on_cuda(self, given);
    if (device && strcmp(device, "cpu") != 0)
        return usage_error(NULL, self, "--device %s: bench knows cpu, cuda (cuda:1 …) and sim",
                           device);
    if (options_any(given, of_cuda))
        return usage_error(NULL, self, "--%s needs --device cuda", options_any(given, of_cuda));
    return bench_on_cpu(self, given);
}

static const struct option_spec bench_options[] = {
    OPTION_GROUP("Sizes and values"),
    {.name = "size",
     .letter = 's',
     .values = 1,
     .value = "N",
     .help = "m = n = k = N (default 512, on a GPU 4096); may be repeated"},
    {.name = "dims",
     .values = 3,
     .value = "M K N",
     .help = "m = M, k = K, n = N; tables and suites have m n k"},
    {.name = "all-sizes",
     .letter = 'a',
     .help = "512×512×512, 1024×1024×1024, 256×384×640, 511×513×1025:\nM×K×N as for --dims, where "
             "tables have m n k"},
    OPTION_EXTENT('m', "m"),
    OPTION_EXTENT('n', "n"),
    OPTION_EXTENT('k', "k"),
    {.name = "batch",
     .values = 1,
     .value = "LIST",
     .help = "number of products in a launch (default 1)"},
    OPTION_SUITE,
    OPTION_SET,
    OPTION_SMS,
    {.name = "best",
     .help = "of a family, time only the variant that it chooses for each size, by its table\n"
             "and by what `tilewright tune` stored"},
    OPTION_TUNE,
    OPTION_TUNED,
    OPTION_STORE,
    OPTION_TYPE,
    OPTION_FILL,
    OPTION_IMPORT,
    OPTION_GROUP("Device and libraries to compare with"),
    {.name = "device",
     .values = 1,
     .value = "DEVICE",
     .help =
         "cpu (default), or cuda: a GPU, compared with cuBLAS and cuBLASLt (cuda:1: the second),\n"
         "or sim: times the simulator instead;\n"
         "options that are marked CPU or GPU apply to that one alone, --threads to the CPU"},
    OPTION_THREADS,
    OPTION_BIND,
    OPTION_MACHINE_BITS,
    {.name = "peers",
     .values = 1,
     .value = "LIST",
     .help = "CPU: libraries to compare with: openblas,blis,onednn (default: all that are\nfound), "
             "none"},
    {.name = "together",
     .help =
         "CPU: all kernels, sizes and types take turns, so that their times can be\ncompared, too"},
    {.name = "ensures",
     .help =
         "compare with `ensures` at every size; without it, products beyond 1024 x 1024 x 1024\n"
         "(256 x 256 x 256 on a GPU) are compared with the library's, up to 4096 elements in\n"
         "double precision"},
    {.name = "triton",
     .help = "GPU: compare with an autotuned product in Triton, too, if `python3` has it"},
    {.name = "load",
     .help = "GPU: compile and load only, and say what each kernel takes: registers,\n"
             "spills, shared memory, blocks that a multiprocessor runs at a time"},
    OPTION_GROUP("How long, and output"),
    {.name = "warmup",
     .values = 1,
     .value = "N",
     .help = "CPU: rounds before measuring (default 5)"},
    {.name = "repeat",
     .values = 1,
     .value = "N",
     .help = "rounds measured (default 20, on a GPU 5 turns of kernel and libraries); the\n"
             "median is shown"},
    {.name = "rounds", .values = 1, .now = "repeat"},
    {.name = "budget",
     .values = 1,
     .value = "TIME",
     .help = "CPU: a kernel past this is measured less often, at least 3 times (default\n10s)"},
    {.name = "time-limit", .values = 1, .now = "budget"},
    {.name = "seconds", .values = 1, .value = "TIME", .help = "GPU: time of a turn (default 0.2s)"},
    {.name = "timeout",
     .values = 1,
     .value = "TIME",
     .help = "CPU: a single run that takes longer is ended and fails (default 10s)"},
    OPTION_JSON,
    OPTION_END,
};

const struct command command_bench = {
    .name = "bench",
    .arguments = "[FILE[:KERNEL]…] [OPTIONS]",
    .summary = "time kernels, compared with the best libraries; values checked",
    .about =
        "Times kernels (default: kernels/matmul) and compares every value with `ensures`.\n"
        "Kernels with parameters m, n and k are timed at the sizes asked for (or at those of "
        "--set), and those\n"
        "that make C[m][n] from A[m][k] and B[k][n] in turn with OpenBLAS, BLIS and oneDNN, where\n"
        "those are found (--peers; $TILEWRIGHT_BLAS, $TILEWRIGHT_BLIS and $TILEWRIGHT_ONEDNN name\n"
        "files; in a checkout `./dev bench` fetches them). Others are timed at sizes given by\n"
        "--set, and rated by the bytes of their arrays, in turn with a copy of as many.\n"
        "Tables and suites have sizes in the order m n k; --dims and --all-sizes in that of\n"
        "A[m][k] B[k][n], which is m k n.\n"
        "With --device cuda they run on a GPU and are compared with cuBLAS and cuBLASLt if found: "
        "several rounds of\n"
        "the kernels of a size and the libraries in turn, over copies of the arrays that are "
        "larger than the "
        "cache (docs/bench.md).\n"
        "`bench --device sim [FILE]` times the simulator instead: a product's PTX (default: "
        "kernels/sgemm/tiled.tile,\n"
        "256 x 256 x 256), alone and with each of the checks of `check`, in warp instructions "
        "a second on one core.\n"
        "A kernel that does not take a size is skipped, and the table says why.\n"
        "Status 1: a value was wrong, a kernel failed, or all were skipped.",
    .options = bench_options,
    .examples = "  tilewright bench -s 256\n"
                "  tilewright bench kernels/sgemm/*.tile --dims 256 384 640 --json\n"
                "  tilewright bench kernels/fused/softmax.tile --set rows=1024,cols=1000\n"
                "  tilewright bench --device cuda --type f16 -m 16,64 -n 8192 -k 28672\n"
                "  tilewright bench --device cuda --type all --suite squares --json\n",
    .run = bench_run,
};
