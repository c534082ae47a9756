"""Ping the gateway behind an interface of this pod, for `helm test`.

    python3 -m netclaim.probe ping IFNAME   exit code 0 if it answers, 1 with the reason

Kubelet's probes are `netclaim-keeper --probe`, which starts no Python.
Limit: the ping is for IPv4.
"""

import asyncio
import socket
import struct
import sys
from pathlib import Path
from typing import Final

from netclaim.local.ping import ping_once

USAGE: Final = "usage: python3 -m netclaim.probe ping IFNAME"
ROUTES: Final = Path("/proc/net/route")
PINGS: Final = 20  # one per second: a link may take some to come up


def main(arguments: list[str]) -> int:
    """Run one probe; returns the exit code."""
    match arguments:
        case ["ping", ifname]:
            good, text = _ping(ifname)
        case _:
            print(USAGE, file=sys.stderr)  # noqa: T201 (a program's output)
            return 2
    print(text)  # noqa: T201
    return 0 if good else 1


def _ping(ifname: str) -> tuple[bool, str]:
    gateway = gateway_of(ifname, ROUTES.read_text())
    if not gateway:
        return False, f"no route has a gateway on {ifname}; is the interface in the pod?"
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, ifname.encode())
        sock.setblocking(False)
        for sequence in range(1, PINGS + 1):
            if pong := asyncio.run(ping_once(sock, gateway, sequence)):
                return True, f"{gateway} answered through {ifname} after {pong.milliseconds:.1f} ms"
    return False, f"{gateway} did not answer {PINGS} pings through {ifname}"


def gateway_of(ifname: str, routes: str) -> str:
    """Return the first gateway on an interface, from the kernel's table; empty if none."""
    for line in routes.splitlines()[1:]:
        name, _, gateway, *_ = line.split()
        if name == ifname and int(gateway, 16):
            return socket.inet_ntoa(struct.pack("=I", int(gateway, 16)))
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
