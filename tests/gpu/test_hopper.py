#!/usr/bin/env python3
"""The programs of tests/hopper, hand-written for Hopper's warpgroup products and copy engine.

    test_hopper.py TILEWRIGHT [--time]

matmul and attention are there twice, as hand-written PTX and as thread IR, whose PTX $THREAD_TEXT (tests/thread/thread_text.c) makes. The parser
reads them; ptxas, where it is installed, assembles them without a message and without spills. On a GPU of compute capability 9.0 their results are
compared with NumPy's, with edges that cut tiles. --time compares their times with PyTorch's functions, which call cuBLAS and cuDNN, in turns, with
normally distributed values.
"""
import ctypes
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    np = None  # the texts are read and assembled all the same

from thread_products import ATTENTION_SHARED, LOG2E, PRODUCTS, grid
from tile_runner import fail

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from gpu_driver import Driver  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.path.join(os.path.dirname(HERE), "hopper")
TENSOR = {"f16": 6, "bf16": 9}  # CUtensorMapDataType
SWIZZLE_128B, L2_256B = 3, 3    # CUtensorMapSwizzle, CUtensorMapL2promotion
MULTIPROCESSORS, MAJOR = 16, 75  # CUdevice_attribute
SHARED = {"matmul.ptx": 213056, "matmul_pairs.ptx": 213056, "matmul.thread": 213056, "attention.ptx": 163968, "attention.thread": 163968}
THREADS = 384


def read(name):
    """Returns a program's PTX."""
    if name.endswith(".thread"):
        return subprocess.run([os.environ["THREAD_TEXT"], "--ptx", f"{FOLDER}/{name}"], capture_output=True, text=True, check=True).stdout
    with open(f"{FOLDER}/{name}") as file:
        return file.read()


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def check_text(tool):
    for name in SHARED:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/program.ptx"
            with open(path, "w") as file:
                file.write(read(name))
            done = subprocess.run([tool, "show", path, "--kernels"], capture_output=True, text=True)
        if done.returncode or not re.match(r"\w+_hopper\w*  block 384,1,1\n", done.stdout):
            fail(f"{name} is not read: {done}")


def check_assembled():
    """Each message of ptxas counts: it says when products wait for each other, or when the registers of roles are ignored."""
    ptxas = shutil.which("ptxas", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    if not ptxas:
        return
    for name in SHARED:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/program.ptx"
            with open(path, "w") as file:
                file.write(read(name))
            done = subprocess.run([ptxas, "-arch=sm_90a", "-v", path, "-o", f"{folder}/out.cubin"], capture_output=True, text=True)
        if done.returncode or re.search(r"\(C\d+\)|warning", done.stderr) or " 0 bytes spill stores, 0 bytes spill loads" not in done.stderr:
            fail(f"{name}: ptxas: {done.stderr}")


class Gpu(Driver):
    def __init__(self):
        super().__init__()
        self.device = ctypes.c_int()
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)

    def attribute(self, number):
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), number, self.device)
        return value.value

    def kernel(self, name):
        text = read(name)
        module = self.load(text.encode())
        if module is None:
            fail(f"the driver refuses {name}")
        return self.function(module, re.search(r"\.entry (\w+)", text).group(1), SHARED[name])

    def map(self, address, dtype, shape, box):
        """Returns a tensor map of a row-major array of 2-byte elements; the box is in the array's order of axes."""
        rank = len(shape)
        inner = list(reversed(shape))
        steps = [2 * int(np.prod(inner[:i + 1], dtype=np.int64)) for i in range(rank - 1)]
        # The map has to begin at a multiple of 64 bytes.
        memory = (ctypes.c_ubyte * 192)()
        at = -ctypes.addressof(memory) % 64
        out = (ctypes.c_ubyte * 128).from_buffer(memory, at)
        self.call("cuTensorMapEncodeTiled", out, TENSOR[dtype], rank, address, (ctypes.c_uint64 * rank)(*inner),
                  (ctypes.c_uint64 * (rank - 1))(*steps), (ctypes.c_uint32 * rank)(*reversed(box)), (ctypes.c_uint32 * rank)(*[1] * rank),
                  0, SWIZZLE_128B, L2_256B, 0)
        return (ctypes.c_ubyte * 128)(*out)

    def start(self, function, name, grid, arguments):
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in arguments])
        self.call("cuLaunchKernel", function, *grid, THREADS, 1, 1, SHARED[name], None, pointers, None)


class Product:
    """C = A·trans(B). Addresses of A[m][k], B[n][k] and C[m][n], bf16."""

    def __init__(self, gpu, name, a, b, c, m, n, k):
        self.gpu, self.name, self.function = gpu, name, gpu.kernel(name)
        half = 2 if "pairs" in name else 1
        self.arguments = [gpu.map(a, "bf16", (m, k), (128, 64)), gpu.map(b, "bf16", (n, k), (256 // half, 64)), gpu.map(c, "bf16", (m, n), (64, 64)),
                          *(ctypes.c_uint32(x) for x in (m, n, k))]
        self.grid = (gpu.attribute(MULTIPROCESSORS) // 2 * 2, 1, 1)

    def run(self):
        self.gpu.start(self.function, self.name, self.grid, self.arguments)


class Attention:
    """Addresses of Q and O [heads][nq][128], K and V [heads][nk][128], f16."""

    def __init__(self, gpu, name, q, k, v, o, heads, nq, nk):
        self.gpu, self.name, self.function = gpu, name, gpu.kernel(name)
        rows = [(q, nq, 128), (k, nk, 128), (v, nk, 128), (o, nq, 64)]
        self.arguments = [gpu.map(x, "f16", (heads, count, 128), (1, box, 64)) for x, count, box in rows]
        self.arguments += [ctypes.c_uint32(nk), ctypes.c_float(LOG2E / 128 ** 0.5)]
        self.grid = (-(-nq // 128), heads, 1)

    def run(self):
        self.gpu.start(self.function, self.name, self.grid, self.arguments)


class WarpProgram:
    """A program of tests/thread, for any GPU since sm_80."""

    def __init__(self, gpu, name, blocks, threads, shared, arguments):
        self.gpu, self.grid, self.threads, self.shared, self.arguments = gpu, blocks, threads, shared, arguments
        path = os.path.join(os.path.dirname(FOLDER), "thread", f"{name}.thread")
        text = subprocess.run([os.environ["THREAD_TEXT"], "--ptx", path], capture_output=True, check=True).stdout
        self.function = gpu.function(gpu.load(text), name, shared)

    def run(self):
        pointers = (ctypes.c_void_p * len(self.arguments))(*[ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in self.arguments])
        self.gpu.call("cuLaunchKernel", self.function, *self.grid, 1, self.threads, 1, 1, self.shared, None, pointers, None)


def warp_product(gpu, name, a, b, c, m, n, k):
    """C = A·B, or A·trans(B)."""
    product = PRODUCTS[name]
    arguments = [*(ctypes.c_uint64(x) for x in (a, b, c)), ctypes.c_uint32(n), ctypes.c_uint32(k)]
    return WarpProgram(gpu, name, grid(product, m, n), product.threads, product.shared, arguments)


def warp_attention(gpu, q, k, v, o, heads, nq, nk):
    arguments = [*(ctypes.c_uint64(x) for x in (q, k, v, o)), ctypes.c_uint32(nq), ctypes.c_uint32(nk), ctypes.c_float(LOG2E / 128 ** 0.5)]
    return WarpProgram(gpu, "attention_warps", (nq // 128, heads), 256, ATTENTION_SHARED, arguments)


# --- values ---

def as_bf16(x):
    """Rounds to the nearest bf16, ties to even. Returns its bits and its values."""
    bits = x.astype(np.float32).view(np.uint32)
    bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16
    return bits.astype(np.uint16), (bits << 16).astype(np.uint32).view(np.float32)


def check_product(gpu, name, m, n, k):
    random = np.random.default_rng(m + n + k)
    (a, real_a), (b, real_b) = (as_bf16(random.standard_normal(shape)) for shape in ((m, k), (n, k)))
    out = gpu.allocate(m * n * 2 + 4096, b"\x5a" * (m * n * 2 + 4096))
    held = [gpu.allocate(x.nbytes, x.tobytes()) for x in (a, b)]
    Product(gpu, name, *held, out, m, n, k).run()
    gpu.wait()
    raw = gpu.read(out, m * n * 2 + 4096)
    if raw[m * n * 2:] != b"\x5a" * 4096:
        fail(f"{name} {m}x{n}x{k} writes past C")
    got = (np.frombuffer(raw, np.uint16, m * n).astype(np.uint32) << 16).view(np.float32).reshape(m, n)
    wanted = real_a @ real_b.T
    error = np.max(np.abs(got - wanted) / (np.abs(wanted) + k ** 0.5))  # the result is rounded to bf16
    if not error < 2 ** -8:
        fail(f"{name} {m}x{n}x{k}: error {error}")
    print(f"{name} {m}x{n}x{k}: error {error:.2g}")
    for x in (*held, out):
        gpu.call("cuMemFree_v2", x)


def check_attention(gpu, name, heads, nq, nk):
    random = np.random.default_rng(heads + nq + nk)
    q, k, v = (random.standard_normal((heads, rows, 128)).astype(np.float16) for rows in (nq, nk, nk))
    out = gpu.allocate(q.nbytes, b"\x7e" * q.nbytes)
    held = [gpu.allocate(x.nbytes, x.tobytes()) for x in (q, k, v)]
    Attention(gpu, name, *held, out, heads, nq, nk).run()
    gpu.wait()
    got = np.frombuffer(gpu.read(out, q.nbytes), np.float16).reshape(q.shape).astype(np.float64)
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / 128 ** 0.5
    part = np.exp(scores - scores.max(axis=2, keepdims=True))
    wanted = part / part.sum(axis=2, keepdims=True) @ v.astype(np.float64)
    error = np.abs(got - wanted).max()
    if not error < 4e-3:
        fail(f"{name} {heads}x{nq}x{nk}: error {error}")
    print(f"{name} {heads}x{nq}x{nk}: error {error:.2g}")
    for x in (*held, out):
        gpu.call("cuMemFree_v2", x)


def check_values(gpu):
    for name in ("matmul.ptx", "matmul.thread", "matmul_pairs.ptx"):
        for m, n, k in ((128, 256, 64), (64, 64, 8), (300, 520, 200), (1, 8, 4096), (2048, 4096, 1024), (5000, 3000, 72)):
            check_product(gpu, name, m, n, k)
    for name in ("attention.ptx", "attention.thread"):
        for heads, nq, nk in ((1, 128, 128), (1, 128, 256), (2, 200, 384), (3, 1000, 1024), (16, 2048, 2048)):
            check_attention(gpu, name, heads, nq, nk)


# --- times ---

def milliseconds(torch, functions, repeat=60):
    """Times functions in turns. Returns the median of each."""
    taken = [[] for _ in functions]
    for turn in range(repeat + 10):
        for function, kept in zip(functions, taken):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            function()
            end.record()
            end.synchronize()
            if turn >= 10:
                kept.append(begin.elapsed_time(end))
    return [statistics.median(x) for x in taken]


def shipped(file, kernel):
    sys.path.insert(0, os.path.join(ROOT, "python"))
    import tilewright
    return tilewright.load(f"{ROOT}/kernels/{file}")[kernel]


def print_product_times(gpu, torch, name, product, size):
    """Compares with cuBLAS, and with the kernel that the compiler makes the same program of."""
    a, b = (torch.randn(size, size, device="cuda", dtype={"f16": torch.float16, "f32": torch.float32}[product.dtype]) for _ in range(2))
    c, d = torch.empty_like(a), torch.empty_like(a)
    names, runs = [f"{name}.thread"], [warp_product(gpu, name, a.data_ptr(), b.data_ptr(), c.data_ptr(), size, size, size).run]
    if product.twin:
        (file, kernel), tuned = product.twin[0].split(":"), product.twin[1]
        twin = shipped(f"matmul/{file}", kernel).with_(**tuned, T=product.dtype, m=size, n=size, k=size)
        names.append(kernel)
        runs.append(lambda: twin(a=a, b=b, c=d))
    other = b.T if product.transposed else b
    times = milliseconds(torch, [*runs, lambda: torch.mm(a, other, out=d)])
    print_rates(f"{product.dtype} {size}^3 by warps", [*names, "cuBLAS"], times, 2 * size ** 3)
    runs[0]()
    torch.mm(a, other, out=d)
    print("  largest difference", (c.float() - d.float()).abs().max().item())


def print_times(gpu):
    import torch
    torch.cuda.init()
    for size in (4096, 8192):
        a, b = (torch.randn(size, size, device="cuda").bfloat16() for _ in range(2))
        c, d = (torch.empty(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        addresses = [ctypes.c_uint64(x.data_ptr()) for x in (a, b, c)]
        names = ["matmul.ptx", "matmul.thread", "matmul_pairs.ptx"]
        own = [Product(gpu, name, *addresses, size, size, size) for name in names]
        times = milliseconds(torch, [*(x.run for x in own), lambda: torch.mm(a, b.T, out=d)])
        print_rates(f"bf16 {size}^3", [*names, "cuBLAS"], times, 2 * size ** 3)
        own[1].run()
        torch.mm(a, b.T, out=d)
        print("  largest difference", (c.float() - d.float()).abs().max().item())
    for name, product in PRODUCTS.items():
        print_product_times(gpu, torch, name, product, 4096)
    for length in (2048, 8192):
        heads = 16 * 8192 // length
        q, k, v = (torch.randn(1, heads, length, 128, device="cuda", dtype=torch.float16) for _ in range(3))
        o = torch.empty_like(q)
        names = ["attention.ptx", "attention.thread"]
        twin = shipped("fused/attention.tile", "attention").with_(BM=128, BN=64, WARPS=8, T="f16", heads=heads, nq=length, nk=length, d=128, causal=False,
                                                                  scale=128 ** -0.5)
        q3, k3, v3, o3 = (x[0] for x in (q, k, v, torch.empty_like(q)))
        addresses = [ctypes.c_uint64(x.data_ptr()) for x in (q, k, v, o)]
        own = [Attention(gpu, name, *addresses, heads, length, length) for name in names]
        from torch.nn.attention import SDPBackend, sdpa_kernel
        peers = []
        for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
            def peer(backend=backend):
                with sdpa_kernel(backend):
                    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
            peers.append(peer)
        warps = warp_attention(gpu, *(x.data_ptr() for x in (q, k, v, o3)), heads, length, length)
        roles = shipped("hopper/attention_roles.tile", "attention_hopper").with_(heads=heads, nq=length, nk=length, causal=False, scale=128 ** -0.5)
        times = milliseconds(torch, [*(x.run for x in own), warps.run, lambda: twin(q=q3, k=k3, v=v3, o=o3),
                                     lambda: roles(q=q3, k=k3, v=v3, o=o3), *peers])
        print_rates(f"attention f16, {heads} heads of {length}",
                    [*names, "attention_warps.thread", "fused/attention.tile", "hopper/attention_roles.tile", "cuDNN", "flash"], times,
                    4 * heads * length ** 2 * 128)
        print_causal_times(torch, roles, heads, length, (q, k, v, o))
        warps.run()
        print("  largest difference of attention_warps.thread", (o3.float() - peers[0]()[0].float()).abs().max().item())
        own[1].run()
        print("  largest difference", (o.float() - peers[0]().float()).abs().max().item())


def print_causal_times(torch, roles, heads, length, arrays):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    q, k, v, o = arrays
    causal = roles.with_(causal=True)

    def peer():
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    times = milliseconds(torch, [lambda: causal(q=q[0], k=k[0], v=v[0], o=o[0]), peer])
    print_rates(f"causal attention f16, {heads} heads of {length}", ["hopper/attention_roles.tile", "cuDNN"], times, 2 * heads * length ** 2 * 128)


def print_rates(what, names, times, operations):
    print(what + ": " + ", ".join(f"{name} {ms:.4f} ms = {operations / ms * 1e-9:.1f} TFLOP/s" for name, ms in zip(names, times)))


def main():
    check_text(sys.argv[1])
    check_assembled()
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        skip("there is no NVIDIA driver here (libcuda.so.1 was not found)")
    if not np:
        skip("there is no NumPy")
    gpu = Gpu()
    if gpu.attribute(MAJOR) != 9:
        skip("the GPU is not one of compute capability 9.0")
    check_values(gpu)
    if "--time" in sys.argv:
        print_times(gpu)


if __name__ == "__main__":
    main()
