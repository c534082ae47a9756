"""All that a namespace has on a link, as `ip`, `tc`, ethtool and /proc tell it, to compare."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from netclaim.kernel import Rtnl, call_in, open_netns
from netclaim.kernel.host.sysctls.link_sysctls import read_link_sysctls
from netclaim.kernel.state.card.card_settings import CardSettings, read_card
from tests.reference.site.cni_site import run

T = TypeVar("T")
SETTINGS = ("address", "mtu", "txqlen", "ifalias", "altnames", "group")


def seen_on(netns: str, name: str) -> dict[str, Any]:
    """What there is on a link."""
    shown = {
        what: sorted(_known_lines(run("ip", "-n", netns, *what.split())))
        for what in (
            *("-4 route show table main", "-6 route show table main", "route show table 777"),
            *("-6 route show table 777", "neigh show nud permanent", "neigh show proxy"),
            *(f"-4 address show dev {name}", f"-6 address show dev {name} scope global"),
        )
    }
    link = json.loads(run("ip", "-n", netns, "-j", "-d", "link", "show", "dev", name))[0]
    queue = json.loads(run("tc", "-n", netns, "-j", "qdisc", "show", "dev", name))
    return {
        **shown,
        **{setting: link.get(setting) for setting in SETTINGS},
        "up": "UP" in link["flags"],
        "queue": queue,
        "sysctls": in_netns(netns, lambda: read_link_sysctls(name)),
        "features": card(netns, name),
    }


def _known_lines(text: str) -> Iterator[str]:
    """Yield the lines without what follows the carrier, which comes in its own time."""
    for line in text.splitlines():
        words = [word for word in line.split() if word != "linkdown"]
        if not any(word.startswith(("fe80", "<")) for word in words):
            yield " ".join(words)


def in_netns(netns: str, work: Callable[[], T]) -> T:
    """Do something in a namespace."""
    with open_netns(f"/run/netns/{netns}") as there:
        return call_in(there, work)


def card(netns: str, name: str) -> CardSettings:
    """What ethtool would say of a link."""
    with opened(netns) as rtnl:
        return read_card(rtnl, name)


@contextmanager
def opened(netns: str) -> Iterator[Rtnl]:
    """Talk to the kernel about the links of a namespace."""
    with open_netns(f"/run/netns/{netns}") as there, Rtnl.open(there) as rtnl:
        yield rtnl
