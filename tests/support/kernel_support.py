"""Network namespaces of a test's own, and `ip` as the independent witness of what is in them."""

import json
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from netclaim.kernel.host.netns import Netns, open_netns

NETNS_DIRECTORY = Path("/run/netns")  # where `ip netns` and the container runtimes mount them
ALTNAME_MAX = 127  # bytes; the kernel keeps 128 with the NUL
ALTNAMES_MAX = 500  # a few more than fit in the 64 KiB that the kernel gives them


@contextmanager
def fresh_netns() -> Iterator[Netns]:
    """Make a namespace for one test, and remove it whatever the test did."""
    name = f"nct-{secrets.token_hex(4)}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        with open_netns(NETNS_DIRECTORY / name) as netns:
            yield netns
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def name_of(netns: Netns) -> str:
    """Say what `ip` calls the namespace."""
    return Path(netns.path).name


def ip(netns: Netns, *arguments: str) -> None:
    """Run `ip` in the namespace."""
    subprocess.run(["ip", "-n", name_of(netns), *arguments], check=True)


def fill_with_altnames(netns: Netns, link: str) -> set[str]:
    """Give a link as many alternative names, as long ones, as the kernel takes; returns them."""
    wanted = [f"{number:03}".ljust(ALTNAME_MAX, "x") for number in range(ALTNAMES_MAX)]
    batch = "".join(f"link property add dev {link} altname {name}\n" for name in wanted)
    command = ["ip", "-n", name_of(netns), "-force", "-batch", "-"]
    subprocess.run(command, input=batch.encode(), check=False, capture_output=True)
    (seen,) = ip_json(netns, "link", "show", link)
    return set(seen["altnames"])


def ip_json(netns: Netns, *arguments: str) -> list[dict[str, Any]]:
    """Ask `ip` in the namespace."""
    command = ["ip", "-n", name_of(netns), "-details", "-json", *arguments]
    answer = subprocess.run(command, check=True, capture_output=True).stdout
    found: list[dict[str, Any]] = json.loads(answer)
    return found
