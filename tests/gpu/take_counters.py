#!/usr/bin/env python3
"""Takes the profiler's counts for the ladders' kernels on this machine's GPU: the rows of tests/sim/ladder-counters.csv.

    take_counters.py TILEWRIGHT OUT

Needs ncu. Runs each kernel of kernels/sgemm and kernels/matmul at 256³ and 512³, in its default configuration.
"""
import csv
import io
import os
import subprocess
import sys

METRICS = {
    "shared_wavefronts": "memory_l1_wavefronts_shared",
    "shared_wavefronts_ideal": "memory_l1_wavefronts_shared_ideal",
    "shared_wavefronts_sass": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared_loads": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_stores": "smsp__sass_inst_executed_op_shared_st.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "copy_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
    "copy_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
    "instructions": "smsp__inst_executed.sum",
}


def profile_metrics(words, metrics):
    """Returns ncu's metrics of the first kernel that the command launches: texts by name, in base units; None if there is none."""
    command = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--target-processes", "all", "--launch-count", "1",
               "--section", "SourceCounters", "--metrics", ",".join(metrics), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    text = done.stdout[done.stdout.find('"ID"'):]
    rows = list(csv.DictReader(io.StringIO(text)))
    if len(rows) < 2:
        print(" ".join(words), done.stdout[-600:], done.stderr[-600:], file=sys.stderr)
        return None
    return {name: (rows[1].get(name) or "").replace(",", "") for name in metrics}  # rows[0] has the units


def profile(words):
    """Returns METRICS, in their order, as texts of integers; None if there are none."""
    read = profile_metrics(words, METRICS.values())
    return read and [text.split(".")[0] for text in read.values()]


def read(tool, path, size):
    return profile([tool, "run", path, f"--set=m={size},n={size},k={size}", "--fill=rand", "--device=cuda"])


def main():
    tool, out = sys.argv[1:]
    with open(out, "w") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["kernel", "size", *METRICS])
        for folder in ("sgemm", "matmul"):
            for name in sorted(os.listdir(f"kernels/{folder}")):
                for size in (256, 512):
                    counted = read(tool, f"kernels/{folder}/{name}", size)
                    if counted:
                        writer.writerow([name[:-5], size, *counted])
                        file.flush()


if __name__ == "__main__":
    main()
