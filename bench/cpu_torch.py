"""The part `torch` of bench/cpu.py: kernels compared with PyTorch on the CPU, which calls MKL for f32, and oneDNN (with AMX, where the processor has
it) for bf16 and 8-bit integers. It needs PyTorch in the Python that runs bench/cpu.py, and the shared library next to the program.

Both run in one process, in bursts, in turns. After each burst the process rests: threads of OpenMP spin for up to 200 ms after their last work.
Weights are not packed ahead for either. `machine_bits` is set: the engine may use AMX, as oneDNN does.
"""
import os
import statistics
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REST = 0.25  # seconds after a burst
BURST, TURNS = 0.15, 5
QUICK_BURST, QUICK_TURNS = 0.01, 2
TOLERANCE = {"f32": 1e-5, "bf16": 1e-2, "f16": 2e-3, "i8": 0}  # of the size of a sum of k products of numbers in -0.5 to 0.5


class Missing(Exception):
    """PyTorch, or what it would have to have."""


def import_both(tool):
    """Returns PyTorch and the Python module of the library next to the program. Raises Missing."""
    try:
        import torch
    except ImportError as why:
        raise Missing(f"no PyTorch: {why}") from None
    folder = os.path.dirname(os.path.abspath(tool))
    found = [os.path.join(folder, name) for name in ("libtilewright.so", "libtilewright.dylib") if os.path.exists(os.path.join(folder, name))]
    if not found:
        raise Missing(f"no libtilewright.so in {folder}")
    os.environ["TILEWRIGHT_LIBRARY"] = found[0]
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import tilewright
    return torch, tilewright


class Contender:
    """A function that is timed. `seconds`: of each call."""

    def __init__(self, name, call):
        self.name, self.call, self.seconds = name, call, []

    def burst(self, length):
        end = time.perf_counter() + length
        self.call()  # brings its arrays and threads back
        while True:
            begun = time.perf_counter()
            self.call()
            now = time.perf_counter()
            self.seconds.append(now - begun)
            if now > end:
                return

    def taken(self, least):
        return min(self.seconds) if least else statistics.median(self.seconds)


def time_in_turns(contenders, quick):
    for _ in range(QUICK_TURNS if quick else TURNS):
        for contender in contenders:
            contender.burst(QUICK_BURST if quick else BURST)
            time.sleep(0 if quick else REST)


class Product:
    """C = A·B of one size and type, in PyTorch's tensors."""

    def __init__(self, torch, dtype, m, n, k):
        self.torch, self.dtype, self.k = torch, dtype, k
        torch.manual_seed(1)
        if dtype == "i8":
            self.a, self.b = (torch.randint(-128, 128, shape, dtype=torch.int8) for shape in ((m, k), (k, n)))
            if not hasattr(torch, "_int_mm"):
                raise Missing(f"PyTorch {torch.__version__} has no product of 8-bit integers on the CPU")
        else:
            element = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[dtype]
            self.a, self.b = ((torch.rand(shape) - 0.5).to(element) for shape in ((m, k), (k, n)))
        self.sizes, self.operations = (m, n, k), 2 * m * n * k
        self.result = torch.empty((m, n), dtype=torch.int32 if dtype == "i8" else self.a.dtype)
        self.own = torch.empty_like(self.result)

    def peer(self):
        if self.dtype == "i8":
            self.result = self.torch._int_mm(self.a, self.b)
        else:
            self.torch.mm(self.a, self.b, out=self.result)

    def arguments(self):
        return (*self.sizes, self.a, self.b, self.own)

    def differs(self):
        """Returns what is wrong with the kernel's result, or None."""
        difference = (self.own.double() - self.result.double()).abs().max().item()
        allowed = TOLERANCE[self.dtype] * (self.k ** 0.5 if self.dtype != "i8" else 0)
        return None if difference <= allowed else f"differs from PyTorch's by {difference:.3g}, more than {allowed:.3g}"


class Attention:
    """softmax(Q·Kᵀ·scale)·V of several heads."""

    def __init__(self, torch, dtype, heads, nq, nk, d, causal, scale):
        self.torch, self.dtype, self.causal = torch, dtype, causal
        torch.manual_seed(1)
        element = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[dtype]
        self.q, self.k, self.v = ((torch.rand((heads, rows, d)) - 0.5).to(element) for rows in (nq, nk, nk))
        self.own, self.result = torch.empty_like(self.q), None
        if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            raise Missing(f"PyTorch {torch.__version__} has no fused attention")
        if abs(scale - d ** -0.5) > 1e-6:
            raise Missing(f"PyTorch's attention is compared with scale = 1/sqrt(d), not {scale}")
        self.sizes, self.operations = (heads, nq, nk, d, causal, scale), 4 * heads * nq * nk * d

    def peer(self):
        query, key, value = (x.unsqueeze(0) for x in (self.q, self.k, self.v))
        self.result = self.torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)[0]

    def arguments(self):
        return (*self.sizes, self.q, self.k, self.v, self.own)

    def differs(self):
        difference = (self.own.double() - self.result.double()).abs().max().item()
        return None if difference <= TOLERANCE[self.dtype] else f"differs from PyTorch's by {difference:.3g}"


def work_of(torch, line):
    extents = line.extents()
    if extents:
        return Product(torch, line.type, *extents)
    values = [line.setting(name) for name in ("heads", "nq", "nk", "d")]
    given = dict(text.split("=") for text in line.sizes.split(","))
    return Attention(torch, line.type, *values, given["causal"] in ("1", "true"), float(given["scale"]))


def compare(torch, tilewright, lines, threads, options):
    """Times the kernels of lines with the same sizes and type, and PyTorch's function. Returns PyTorch's time over the best kernel's, and a note.
    Raises Missing; ValueError if a result is wrong."""
    work = work_of(torch, lines[0])
    torch.set_num_threads(threads)
    contenders = [Contender("PyTorch", work.peer)]
    work.peer()
    for line in lines:
        module = tilewright.load(line.files[0], threads=threads, machine_bits=True)
        kernel = next(iter(module.values()))
        tuned = {} if line.values == "-" else {name: int(value) for name, value in (x.split("=") for x in line.values.split(","))}
        kernel = kernel.with_(**tuned)
        given = work.arguments()
        kernel(*given)
        wrong = work.differs()
        if wrong:
            raise ValueError(f"{line.pattern} {line.values}: the result {wrong}")
        contenders.append(Contender(f"{kernel.name} {line.values}", lambda kernel=kernel, given=given: kernel(*given)))
    time_in_turns(contenders, options.quick)
    peer, *own = contenders
    best = min(own, key=lambda x: x.taken(options.least))
    seconds, peers = best.taken(options.least), peer.taken(options.least)
    rates = [f"{work.operations / x * 1e-9:.4g}" for x in (seconds, peers)]
    return peers / seconds, f"{best.name}: {1e3 * seconds:.4g} ms, {rates[0]} GFLOP/s; PyTorch {torch.__version__} {1e3 * peers:.4g} ms, {rates[1]} GFLOP/s"
