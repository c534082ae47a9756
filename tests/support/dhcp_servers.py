"""A real DHCP server, busybox's, on a link of a namespace of the test's own."""

import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple

from netclaim.kernel import Netns
from tests.support.kernel_support import fresh_netns, ip, name_of

PATIENCE_S = 60.0
LINK = "uplink"
SERVER = "10.9.0.1"
LAST = "10.9.0.19"
ROUTER = "10.9.0.254"


WRITTEN = struct.Struct("!q")  # when the file was
LEASE = struct.Struct("!I4s6s22s")  # seconds left, address, MAC, host name


class ServerLease(NamedTuple):
    """What the server has of a client."""

    address: str
    mac: str
    left_s: int


@dataclass(frozen=True)
class Udhcpd:
    """The running server, and what it has said."""

    netns: str
    directory: Path
    pid: int

    @property
    def said(self) -> str:
        """What it has logged so far."""
        return (self.directory / "log").read_text()

    def leases(self) -> list[ServerLease]:
        """The leases that it has now, which it writes when it is told to."""
        file = self.directory / "leases"
        file.unlink(missing_ok=True)
        os.kill(self.pid, signal.SIGUSR1)
        until_s = time.monotonic() + PATIENCE_S
        while not file.exists() or file.stat().st_size < WRITTEN.size:
            assert time.monotonic() < until_s, "the server writes no leases"
            time.sleep(0.01)
        content = file.read_bytes()[WRITTEN.size :]
        found = [LEASE.unpack_from(content, at) for at in range(0, len(content), LEASE.size)]
        return [
            ServerLease(str(IPv4Address(address)), mac.hex(":"), left_s)
            for left_s, address, mac, _ in found
        ]

    def wait_released(self) -> bool:
        """Return once none of its leases lasts any longer."""
        until_s = time.monotonic() + PATIENCE_S
        while any(lease.left_s for lease in self.leases()):
            assert time.monotonic() < until_s, self.leases()
            time.sleep(0.05)
        return True

    def stop(self) -> None:
        """End it, and have nobody answer any more."""
        os.kill(self.pid, signal.SIGTERM)

    def wait_said(self, text: str, times: int = 1) -> None:
        """Return once it has logged a text so many times."""
        until_s = time.monotonic() + PATIENCE_S
        while self.said.count(text) < times:
            assert time.monotonic() < until_s, self.said
            time.sleep(0.05)


@contextmanager
def udhcpd(
    node: Netns,
    peer: str,
    directory: Path,
    *,
    lease_s: int = 3600,
    renewal_s: int = 0,
    last: str = LAST,
) -> Iterator[Udhcpd]:
    """Serve addresses from 10.9.0.10 on at the other end of a node's link."""
    with fresh_netns() as netns:
        ip(node, "link", "set", peer, "netns", name_of(netns), "name", LINK)
        ip(netns, "address", "add", f"{SERVER}/24", "dev", LINK)
        ip(netns, "link", "set", LINK, "up")
        ip(netns, "link", "set", "lo", "up")
        with serving(
            netns.path, directory, lease_s=lease_s, renewal_s=renewal_s, last=last
        ) as server:
            yield server


@contextmanager
def serving(
    netns: str,
    directory: Path,
    *,
    lease_s: int,
    renewal_s: int = 0,
    last: str = LAST,
    link: str = LINK,
) -> Iterator[Udhcpd]:
    """Run the server in a namespace that has its link; it starts with the leases that it had."""
    directory.mkdir(parents=True, exist_ok=True)
    leases = directory / "leases"
    leases.touch()
    config = directory / "udhcpd.conf"
    config.write_text(
        f"start 10.9.0.10\nend {last}\ninterface {link}\nlease_file {leases}\n"
        f"pidfile {directory}/pid\nopt subnet 255.255.255.0\nopt router {ROUTER}\n"
        f"opt dns 10.9.0.53\nopt domain example.net\nopt lease {lease_s}\nmin_lease 2\n"
        + (f"opt 0x3a {renewal_s:08x}\n" if renewal_s else "")
    )
    command = ["nsenter", f"--net={netns}"]
    command += ["busybox", "udhcpd", "-f", "-a", "50", str(config)]
    with (directory / "log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    server = Udhcpd(netns, directory, process.pid)
    try:
        server.wait_said("started")
        yield server
    finally:
        process.terminate()
        process.wait()
