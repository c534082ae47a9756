"""What a card is asked to do for a function that a pod has, and what is left of that afterwards."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from netclaim.cni import CniError
from tests.reference.site.cni_site import ip
from tests.reference.site.plugin_state import differences
from tests.reference.site.vf_site import (
    HOST,
    NO_MAC,
    OWN,
    Loan,
    card_names,
    fresh_mac,
    function_names,
    functions_of,
    loan,
)
from tests.support.killed import killed_at

EVERYTHING: Final = {
    "vlan": 100,
    "qos": 3,
    "spoofCheck": False,
    "trust": True,
    "maxTxRate": 300,
}
# As the owner of a card may have set it up: what was there is not what a card begins with.
OWNERS: Final = "vlan 7 qos 1 spoofchk on trust off max_tx_rate 500"
CYCLES: Final = 100  # at least, that are cut short
STEPS_AT_LEAST: Final = 15  # of a command; fewer would mean that most are not seen
REFUSED: Final[Mapping[str, Mapping[str, Any]]] = {
    "minTxRate": {"minTxRate": 100},
    "linkState": {"linkState": "disable"},
    "proto": {"vlan": 9, "proto": "802.1ad"},
    "too fast": {"maxTxRate": 10_000_000},
}


@contextmanager
def lent(**keys: Any) -> Iterator[Loan]:
    """Lend a function that the owner of its card has set up."""
    card = card_names()[0]
    ip("-n", HOST, *f"link set {card} vf 0 {OWNERS}".split())
    name = function_names(card)[0]
    with TemporaryDirectory() as directory, loan(name, Path(directory), **keys) as found:
        yield found


def all_at_once() -> list[str]:
    """Everything that the card can do is done for the pod, and undone.

    A pod that is trusted can take another MAC than the card's owner chose.
    """
    with owners_choice(), lent(vf=EVERYTHING) as loan_:
        loan_.add()
        shown = functions_of(card_names()[0])[0]
        seen = {key: shown[key] for key in ("vlan_list", "rate", "spoofchk", "trust")}
        wanted = {
            "vlan_list": [{"vlan": 100, "qos": 3}],
            "rate": {"max_tx": 300, "min_tx": 0},
            "spoofchk": False,
            "trust": True,
        }
        found = differences(wanted, seen)
        loan_.site.call("CHECK", loan_.config | {"prevResult": loan_.result})
        ip("-n", loan_.site.pod, "link", "set", "net1", "address", fresh_mac())
        loan_.delete()
        return found + loan_.faults("DEL")


def refused() -> list[str]:
    """What the card cannot do is refused in words that name the key, and nothing is changed."""
    found = []
    for name, asked in REFUSED.items():
        with lent(vf={"vlan": 9, "maxTxRate": 100, **asked}) as loan_:
            try:
                loan_.add()
                found.append(f"{name} was not refused")
            except CniError as error:
                if not all(each in str(error) for each in ("does not take", *asked)):
                    found.append(f"{name}: {error}")
            found += loan_.faults(f"{name} was refused")
    return found


def own_mac() -> list[str]:
    """A function has the MAC that was asked for, which it may choose by itself."""
    return _mac_faults()


def owners_mac() -> list[str]:
    """Also if its card's owner has chosen one, and the function may not."""
    with owners_choice():
        return _mac_faults()


def owners_mac_alone() -> list[str]:
    """A function that has not heard of its owner's choice yet hears of it in the pod."""
    with owners_choice(known=False) as chosen, lent() as loan_:
        loan_.before["address"] = chosen
        loan_.before["functions"][card_names()[0]][0]["address"] = OWN
        loan_.add()
        loan_.delete()
        return loan_.faults("DEL")


def _mac_faults() -> list[str]:
    mac = fresh_mac()
    with lent(runtimeConfig={"mac": mac}) as loan_:
        loan_.add()
        shown = json.loads(ip("-n", loan_.site.pod, "-j", "link", "show", "dev", "net1"))[0]
        found = differences([mac, True], [shown["address"], "UP" in shown["flags"]])
        loan_.delete()
        return found + loan_.faults("DEL")


@contextmanager
def owners_choice(*, known: bool = True) -> Iterator[str]:
    """Have the card's owner choose the MAC of a function; it knows when it is switched off."""
    card, mac = card_names()[0], fresh_mac()
    ip("-n", HOST, *f"link set {card} vf 0 mac {mac}".split())
    for state in ("up", "down") if known else ():
        ip("-n", HOST, "link", "set", function_names(card)[0], state)
    try:
        yield mac
    finally:
        ip("-n", HOST, *f"link set {card} vf 0 mac {NO_MAC}".split())


def killed() -> list[str]:
    """A process that is killed at any step leaves nothing behind."""
    found, cycles = [], 0
    keys: dict[str, Any] = {"vf": EVERYTHING, "runtimeConfig": {"mac": fresh_mac()}}
    with owners_choice(), lent(**keys) as loan_:
        while cycles < CYCLES:
            for command in ("ADD", "DEL"):
                steps = 0
                while _killed(loan_, command, steps):
                    found += loan_.faults(f"{command} killed at step {steps}")
                    steps += 1
                if steps < STEPS_AT_LEAST:
                    found.append(f"{command} has only {steps} steps")
                cycles += steps
    return found


def _killed(loan_: Loan, command: str, step: int) -> bool:
    """Do a cycle that is killed at a step, and what a new process does about it."""
    if command == "DEL":
        loan_.add()
    was_killed = killed_at(step, loan_.add if command == "ADD" else loan_.delete)
    loan_.forget()
    loan_.delete()
    return was_killed


CASES: Final[Mapping[str, Callable[[], list[str]]]] = {
    "all that a card does for a function": all_at_once,
    "what a card cannot do": refused,
    "a MAC of its own": own_mac,
    "a MAC where the owner chose one": owners_mac,
    "the owner's MAC": owners_mac_alone,
    "killed at every step": killed,
}
