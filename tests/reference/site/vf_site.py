"""Cards and virtual functions as host-device lends them, in a guest that has some.

The host is the guest's own namespace, where hardware is and where the kernel returns it to.
"""

import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from netclaim.plugins import in_process_plugins
from tests.reference.site.cni_site import ip, namespace
from tests.reference.site.link_state import seen_on
from tests.reference.site.plugin_site import Site
from tests.reference.site.plugin_state import differences
from tests.support.plugin_calls import NoPrograms

CLASS_NET: Final = Path("/sys/class/net")
NO_MAC: Final = "00:00:00:00:00:00"
OWN: Final = "its own"
HOST: Final = "nct-host"  # the guest's own namespace, by a name
AMPLE_S: Final = 60.0  # for a kernel that is emulated


@dataclass(slots=True)
class Loan:
    """A link of the host that goes into a pod, and what it was before."""

    site: Site
    name: str
    before: dict[str, Any]
    keys: dict[str, Any]
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of host-device."""
        named = {"cniVersion": "1.1.0", "name": "n", "type": "host-device", "device": self.name}
        return {**named, **self.keys}

    def add(self) -> None:
        """Lend the link."""
        self.result = json.loads(self.site.call("ADD", self.config))

    def delete(self, **changes: Any) -> None:
        """Return the link."""
        self.site.call("DEL", self.config, **changes)

    def forget(self) -> None:
        """Begin anew, as a new process does: with what is on the disk."""
        self.site.plugins = plugins_of(self.site.directory)

    def faults(self, when: str) -> list[str]:
        """Say what is not as it was."""
        return [f"{when}: {each}" for each in differences(self.before, seen(self.name))]


def card_names() -> list[str]:
    """Name the physical functions."""
    return sorted(path.parent.parent.name for path in CLASS_NET.glob("*/device/sriov_numvfs"))


def function_names(card: str) -> list[str]:
    """Name the virtual functions of a card that the host has, in their order."""
    found = sorted(CLASS_NET.glob(f"{card}/device/virtfn*/net/*"))
    return [path.name for path in found]


def seen(name: str) -> dict[str, Any]:
    """What the host has on a link, and what its cards do with their functions.

    A card knows the MAC that a function chose from when it has asked for it.
    """
    link = seen_on(HOST, name)
    functions = {card: functions_of(card) for card in card_names()}
    for each in (each for card in functions.values() for each in card):
        if each["address"] in (NO_MAC, link["address"]):
            each["address"] = OWN
    return {**link, "functions": functions}


def functions_of(card: str) -> list[dict[str, Any]]:
    """What a card does with each of its functions."""
    shown = json.loads(ip("-n", HOST, "-j", "-d", "link", "show", "dev", card))
    functions: list[dict[str, Any]] = shown[0].get("vfinfo_list", [])
    return functions


def plugins_of(directory: Path) -> Any:
    """Return host-device as a process has it when it starts."""
    return in_process_plugins(NoPrograms(), state_dir=directory / "lent")["host-device"]


@contextmanager
def loan(name: str, directory: Path, **keys: Any) -> Iterator[Loan]:
    """Use a link of the host in every way, and have a pod that it can go to."""
    with furnished(name), namespace() as pod:
        site = Site("ours", plugins_of(directory), HOST, pod, directory, directory)
        lent = Loan(site, name, seen(name), keys)
        try:
            yield lent
        finally:
            lent.delete(netns=None if pod in ip("netns", "list") else "")


@contextmanager
def furnished(name: str) -> Iterator[None]:
    """Give a link what a node may have on it; routes and neighbours end with being up."""
    commands = (
        *("link set {0} up", "address add 192.0.2.7/24 dev {0}"),
        "address add 2001:db8::7/64 dev {0} nodad",
        "route add 198.51.100.0/24 via 192.0.2.1 dev {0} metric 50 mtu 1300",
        "route add 203.0.113.128/25 via 192.0.2.1 dev {0} table 777 proto static",
        "-6 route add 2001:db8:6::/48 dev {0} table 777",
        "neigh add 192.0.2.9 lladdr 02:00:00:00:00:99 dev {0}",
        "link property add dev {0} altname uplink-of-the-rack",
    )
    for command in commands:
        ip("-n", HOST, *command.format(name).split())
    try:
        yield
    finally:
        ip("-n", HOST, *f"link property del dev {name} altname uplink-of-the-rack".split())
        ip("-n", HOST, "address", "flush", "dev", name, "scope", "global")
        ip("-n", HOST, "link", "set", name, "down")


@contextmanager
def named_host() -> Iterator[None]:
    """Give the guest's own namespace a name, by which `ip` finds it."""
    ip("netns", "attach", HOST, str(os.getpid()))
    try:
        yield
    finally:
        ip("netns", "del", HOST)


def wait_until(true: Callable[[], object]) -> None:
    """Wait for what the kernel does in its own time."""
    until = time.monotonic() + AMPLE_S
    while not true():
        if time.monotonic() > until:
            raise TimeoutError("it did not happen")
        os.sched_yield()


def fresh_mac() -> str:
    """Make up a MAC."""
    return "02:" + secrets.token_bytes(5).hex(":")
