"""Times that are counted, not measured, so load on the machine does not change them."""
import re
import shutil
import subprocess

# Measured on the slowest programs, products compiled to PTX, with a library built by gcc, on an idle Intel Xeon (Sapphire Rapids); other
# machines execute fewer.
INSTRUCTIONS_PER_MS = 9_000_000


def counted_instructions(*command, runs=(1, 2)):
    """Returns the instructions that the second number of runs, the command's first argument, takes more than the first one. valgrind counts
    them, so they are the same on any machine. None: there is no valgrind."""
    if not shutil.which("valgrind"):
        return None
    count = []
    for number in runs:
        done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", command[0], str(number),
                               *command[1:]], check=True, capture_output=True, text=True)
        count.append(int(re.search(r"I +refs: +([\d,]+)", done.stderr).group(1).replace(",", "")))
    return count[1] - count[0]


def counted_time(*command):
    """Returns the milliseconds that one more run of the command takes: its instructions divided by INSTRUCTIONS_PER_MS; infinity without
    valgrind."""
    count = counted_instructions(*command)
    return float("inf") if count is None else count / INSTRUCTIONS_PER_MS
