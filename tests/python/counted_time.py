"""Times that are counted, not measured, so load on the machine does not change them."""
import re
import shutil
import subprocess

# Measured on the slowest programs, products compiled to PTX, with a library built by gcc, on an idle Intel Xeon (Sapphire Rapids); other
# machines execute fewer.
INSTRUCTIONS_PER_MS = 9_000_000


def counted_time(*command):
    """Returns the time that one more run of the command takes, in milliseconds: its instructions, counted by
    valgrind and so the same on any machine, divided by INSTRUCTIONS_PER_MS; infinity without valgrind."""
    if not shutil.which("valgrind"):
        return float("inf")
    count = []
    for runs in ("1", "2"):
        done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", command[0], runs,
                               *command[1:]], check=True, capture_output=True, text=True)
        count.append(int(re.search(r"I +refs: +([\d,]+)", done.stderr).group(1).replace(",", "")))
    return (count[1] - count[0]) / INSTRUCTIONS_PER_MS
