"""Names of a claim's interfaces: one for one device, or a pattern for any number.

    ifName: net1      for a request that has one device
    ifName: net%d     for as many as there are: net0, net1, net2

Promise: numbers begin with 0 and follow the order of the allocation's results, which does not
change while the claim is allocated, so that a claim which is read again has the same names.
Interfaces of one claim that have the same pattern are numbered together, whichever request they are
of. Limit: a claim is named by itself; that another claim of its pod has no such name is seen when
it is attached. No I/O.
"""

import string
from collections import Counter
from collections.abc import Iterable
from typing import Final

from netclaim.cni import check_ifname
from netclaim.errors import RequestError
from netclaim.paths import Path

NUMBER: Final = "%d"  # as the kernel writes it; a claim's devices, 32 at most, take no more room
FIRST: Final = "0"  # as the kernel counts links, and everybody GPUs and RDMA devices
LAST: Final = "31"  # an allocation has 32 results at most
STEM_MAX: Final = 13  # bytes: those of a name without two digits

# Names that a pod has before any claim: its loopback, and what runtimes call its primary interface.
TAKEN_IFNAMES: Final = ("lo", "eth0")
# Names that mean every interface where the kernel's settings are addressed by name.
COLLECTIVE_IFNAMES: Final = ("all", "default")


def read_ifname(value: object, path: Path) -> str:
    """Read a name or a pattern; RequestError has its path."""
    if not isinstance(value, str):
        raise RequestError("must be a string", path=path)
    example = "net1"
    names = [value]
    if is_pattern(value):
        example = "net%d"
        names = [value.replace(NUMBER, LAST), value.replace(NUMBER, FIRST)]
    elif "%" in value:
        raise RequestError(f"{value!r} may have a % only as {NUMBER}, and only once", path=path)
    for name in names:
        check_ifname(name, path=path)
        if name in TAKEN_IFNAMES:
            message = f"the pod already has an interface named {name}; choose another name"
            raise RequestError(f"{message}, for example {example}", path=path)
        if name in COLLECTIVE_IFNAMES:
            message = f"{name} means every interface to the kernel; choose another name"
            raise RequestError(f"{message}, for example {example}", path=path)
    return value


def is_pattern(ifname: str) -> bool:
    """Whether it names any number of interfaces."""
    return ifname.count("%") == 1 and NUMBER in ifname


def numbered(ifnames: Iterable[str]) -> list[str]:
    """Return the name of each interface, for what was written for it."""
    used: Counter[str] = Counter()
    names = []
    for ifname in ifnames:
        names.append(ifname.replace(NUMBER, str(used[ifname])))
        used[ifname] += 1
    return names


def pattern_like(ifname: str) -> str:
    """Return a pattern for somebody who wrote a name, to say in a message."""
    stem = ifname.rstrip(string.digits)
    if not stem or len(stem.encode()) > STEM_MAX or f"{stem}{FIRST}" in TAKEN_IFNAMES:
        stem = "net"
    return stem + NUMBER
