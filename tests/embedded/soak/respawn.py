"""Run `netclaim driver` with the given options, and again whenever it ends: a DaemonSet's stand-in.

The process id of the driver that runs is the last line of the file that the first argument names.
"""

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    notes, *options = sys.argv[1:]
    while True:
        process = subprocess.Popen([sys.executable, "-m", "netclaim", "driver", *options])
        with Path(notes).open("a", encoding="ascii") as file:
            file.write(f"{process.pid}\n")
        process.wait()
