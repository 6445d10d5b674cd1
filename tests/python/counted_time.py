"""Times that are counted, not measured: what else the machine does has no part in them."""
import re
import shutil
import subprocess

# From the slowest products to PTX, by a library of gcc's, on an Intel Xeon (Sapphire Rapids) that does nothing else; others have fewer.
INSTRUCTIONS_PER_MS = 9_000_000


def counted_time(*command):
    """What the instructions of a second run are in milliseconds, whatever the machine does; infinity without valgrind."""
    if not shutil.which("valgrind"):
        return float("inf")
    count = []
    for runs in ("1", "2"):
        done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", command[0], runs,
                               *command[1:]], check=True, capture_output=True, text=True)
        count.append(int(re.search(r"I +refs: +([\d,]+)", done.stderr).group(1).replace(",", "")))
    return (count[1] - count[0]) / INSTRUCTIONS_PER_MS
