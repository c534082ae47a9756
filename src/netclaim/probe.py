"""Ask this pod's own driver for its state, for kubelet's probes; and ping, for `helm test`.

    python3 -m netclaim.probe healthz     exit code 0 if the driver is well, 1 with its reason
    python3 -m netclaim.probe readyz
    python3 -m netclaim.probe ping IFNAME the gateway behind an interface answers, or exit code 1

The chart's probes are `netclaim-keeper --probe`, which says the same and starts no Python. This
imports next to nothing, too. The driver is asked on $NETCLAIM_HEALTH_SOCKET, which only its own pod
has: during an update, another process might answer on the node's port.
Limit: the ping is for IPv4.
"""

import importlib
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final

SOCKET: Final = "NETCLAIM_HEALTH_SOCKET"
ANSWER_S: Final = 8.0  # below the 10 s of the liveness and readiness probes: the reason is seen
ANSWER_MAX: Final = 65536
USAGE: Final = "usage: python3 -m netclaim.probe healthz | readyz | ping IFNAME"
ROUTES: Final = Path("/proc/net/route")
PINGS: Final = 20  # one per second: a link may take some to come up


def main(arguments: list[str]) -> int:
    """Run one probe; returns the exit code."""
    match arguments:
        case ["healthz" | "readyz" as path]:
            good, text = _ask(path)
        case ["ping", ifname]:
            good, text = _ping(ifname)
        case _:
            print(USAGE, file=sys.stderr)  # noqa: T201 (a program's output)
            return 2
    print(text)  # noqa: T201
    return 0 if good else 1


def _ask(path: str) -> tuple[bool, str]:
    place = os.environ.get(SOCKET, "")
    if not place:
        return False, f"${SOCKET} is not set; it is what --health-socket got"
    request = f"GET /{path} HTTP/1.0\r\nHost: probe\r\n\r\n".encode()
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(ANSWER_S)
            connection.connect(place)
            connection.sendall(request)
            with connection.makefile("rb") as reply:
                answer = reply.read(ANSWER_MAX)
    except OSError as error:
        return False, f"nobody answers at {place}: {error.strerror or error}"
    head, _, body = answer.decode(errors="replace").partition("\r\n\r\n")
    return head.startswith(("HTTP/1.0 200", "HTTP/1.1 200")), body.strip()


def _ping(ifname: str) -> tuple[bool, str]:
    gateway = gateway_of(ifname, ROUTES.read_text())
    if not gateway:
        return False, f"no route has a gateway on {ifname}; is the interface in the pod?"
    # Not for the other probes, which import as little as possible.
    run = importlib.import_module("asyncio").run
    ping_once = importlib.import_module("netclaim.local.ping").ping_once
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, ifname.encode())
        sock.setblocking(False)
        for sequence in range(1, PINGS + 1):
            if pong := run(ping_once(sock, gateway, sequence)):
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
