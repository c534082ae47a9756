"""Sysctls in a container that is not privileged."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.embedded

# What a runtime does to a container, and then what the driver does in it. The value is written back
# as it was: only whether that is possible counts.
CONTAINER = """
import ctypes, pathlib, sys
from netclaim.kernel.host.sysctls.proc_sys import make_sysctls_writable
libc = ctypes.CDLL(None, use_errno=True)
path = pathlib.Path("/proc/sys/net/ipv4/ip_forward")
assert not make_sysctls_writable(), "nothing to do where it is writable"
assert libc.unshare(0x00020000) == 0
assert libc.mount(None, b"/", None, 0x4000 | 1 << 18, None) == 0  # private, and all below
assert libc.mount(b"/proc/sys", b"/proc/sys", None, 0x1000, None) == 0
assert libc.mount(None, b"/proc/sys", None, 0x1000 | 0x20 | 1, None) == 0
try:
    path.write_text(path.read_text())
except OSError:
    print("read-only")
print(make_sysctls_writable())
path.write_text(path.read_text())
print(make_sysctls_writable())
"""


def test_proc_sys_is_made_writable() -> None:
    """It is read-only before and writable after; where it is writable, nothing is done."""
    command = ["unshare", "--net", sys.executable, "-c", CONTAINER]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.split() == ["read-only", "True", "False"]
