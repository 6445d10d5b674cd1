#!/usr/bin/env python3
"""`bench` on families: all kernels, or with --best the variant that the family chooses for each size, by its table; on a driver that runs on
the host, and on the CPU."""
import json
import os
import sys
import tempfile

from tile_runner import call, expect

QUICK = {"cuda": ["--device", "cuda", "--rounds", "1", "--seconds", "0.0001"], "cpu": ["--warmup", "0", "--repeat", "1", "--threads", "1"]}
STAGES, SPLIT = "BM=64,BN=64,BK=32,WARPS=4,STAGES=3", "BM=64,BN=64,BK=32,WARPS=4,STAGES=3,SPLIT=2"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def bench(tool, status, device, *arguments, **variables):
    result = call(["env", *(f"{name}={value}" for name, value in variables.items()), tool, "bench", *arguments, *QUICK[device]])
    expect(result.status == status, (arguments, result))
    return json.loads(result.out) if "--json" in arguments else result.out + result.err


def sizes(m, n="48", k="72"):
    return ["-m", m, "-n", n, "-k", k, "--type", "f16"]


def write_family(folder, device):
    """Two kernels, and times of two of their variants at two sizes."""
    with open(f"{folder}/products.tile", "w") as out:
        out.write(f'family products {{\n    "{ROOT}/kernels/matmul/stages.tile";\n    "{ROOT}/kernels/matmul/split_k.tile";\n}}\n')
    head = {"family": "products", "device": device, "types": "T=f16", "version": "1.2.0", "sizes": ["m", "n", "k"],
            "variants": [{"kernel": "matmul_v4", "tune": STAGES, "resident": 1}, {"kernel": "matmul_v5", "tune": SPLIT, "resident": 1}]}
    rows = [head, {"at": [64, 48, 72], "us": [20, 10]}, {"at": [16, 48, 72], "us": [5, 10]}]
    with open(f"{folder}/products.table", "w") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    return f"{folder}/products.tile"


def chosen(row):
    return row["kernel"], row["config"], row["chosen"]["by"]


def check_best(tool, family):
    rows = bench(tool, 0, "cuda", family, "--best", *sizes("64,16,20"), "--json")["rows"]
    expect([chosen(r) for r in rows] == [("matmul_v5", SPLIT, "result"), ("matmul_v4", STAGES, "result"), ("matmul_v4", STAGES, "nearest")], rows)
    expect(all(r["result"] == "PASS" and r["family"] == "products" and len(r["libraries"]) == 2 for r in rows), rows)
    how = [r["chosen"] for r in rows]
    expect(how[2]["nearest"] == "m=16,n=48,k=72" and how[2]["distance"] > 0 and how[0]["milliseconds"] == 0.01, how)
    expect(all(h["device"] == "simulator" and h["compared"] == 2 for h in how), how)
    expect(rows[0]["file"].endswith("matmul/split_k.tile") and rows[1]["file"].endswith("matmul/stages.tile"), rows)
    said = bench(tool, 0, "cuda", family, "--best", *sizes("64,20"))
    expect("matmul_v5" in said and f"{SPLIT} best as measured" in said and f"{STAGES} best as predicted from m=16,n=48,k=72" in said, said)
    other, = bench(tool, 0, "cuda", family, "--best", *sizes("64")[:-1], "f32", "--json")["rows"]
    expect(other["chosen"]["by"] == "model" and other["dtype"] == "f32" and other["result"] == "PASS", other)
    loaded, = bench(tool, 0, "cuda", family, "--best", *sizes("64"), "--json", "--load")["rows"]
    expect(chosen(loaded) == ("matmul_v5", SPLIT, "result") and loaded["registers"] > 0, loaded)


def check_all(tool, family):
    """Without --best, every kernel of the family takes its turn."""
    rows = bench(tool, 0, "cuda", family, *sizes("64"), "--json")["rows"]
    expect([r["kernel"] for r in rows] == ["matmul_v4", "matmul_v5"] and all("chosen" not in r for r in rows), rows)


def check_several(tool, folder):
    """A file with several kernels that compute the same is a family."""
    with open(f"{folder}/several.tile", "w") as out:
        for name in "one", "two":
            with open("kernels/matmul/shared.tile") as source:
                text = source.read().replace("matmul_v1", name)
            out.write(text if name == "one" else text[text.index("kernel"):])
    row, = bench(tool, 0, "cuda", f"{folder}/several.tile", "--best", *sizes("16"), "--json")["rows"]
    expect(row["family"] == "several" and row["kernel"] in ("one", "two") and row["chosen"]["by"] == "model", row)


def check_tuned(tool, family, folder):
    """The results that `tune` has stored count, too."""
    store = ["--store", f"{folder}/tuned.db"]
    tune = "BM=64,BN=128,BK=32,WARPS=4,STAGES=3"
    tuned = call([tool, "tune", "kernels/matmul/stages.tile", "--device", "cuda", "--set", "m=40,n=48,k=72", "--type", "f16", "--tune", tune, *store])
    expect(tuned.status == 0, tuned)
    row, = bench(tool, 0, "cuda", family, "--best", *store, *sizes("40"), "--json")["rows"]
    expect(chosen(row)[0] == "matmul_v4" and tune in row["config"] and row["chosen"]["by"] == "result", row)


def check_cpu(tool, family):
    row, = bench(tool, 0, "cpu", family, "--best", *sizes("64"), "--peers", "none", "--json")["rows"]
    expect(row["result"] == "PASS" and row["family"] == "products" and row["chosen"]["by"] == "model", row)


def check_libraries(tool, family):
    """The choice is the kernel's: a library's row does not name it."""
    said = bench(tool, 0, "cpu", family, "--best", *sizes("64"))
    expect(said.count("best by the model") == 1, said)


def check_refused(tool):
    said = bench(tool, 2, "cuda", "kernels/matmul/shared.tile", "--best", *sizes("16"))
    expect("--best" in said and "family" in said, said)


def check_damaged(tool, family, folder):
    """A damaged table is left out with one warning, and the model chooses."""
    with open(f"{folder}/products.table", "a") as out:
        out.write('{"at": [1, 2], "us": [1]}\n')
    said = bench(tool, 0, "cuda", family, "--best", *sizes("16"))
    expect(said.count("products.table:4") == 1 and "is left out: 2 values for 3 sizes" in said and "best by the model" in said, said)
    expect(f"`tilewright tune {family} --table {folder}/products.table`" in said, said)


def main():
    tool = os.path.abspath(sys.argv[1])
    os.environ.update({"TILEWRIGHT_CUDA_DRIVER": os.environ["FAKE_CUDA"], "FAKE_CUDA_SM": "90", "TILEWRIGHT_CUBLAS": os.environ["FAKE_CUBLAS"]})
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILEWRIGHT_STORE"] = f"{folder}/none.db"
        family = write_family(folder, "simulator")
        check_best(tool, family)
        check_all(tool, family)
        check_several(tool, folder)
        check_tuned(tool, family, folder)
        check_cpu(tool, family)
        check_libraries(tool, family)
        check_refused(tool)
        check_damaged(tool, family, folder)


if __name__ == "__main__":
    main()
