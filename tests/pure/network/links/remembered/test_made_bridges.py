"""Bridges that plugins make for claims are remembered."""

from pathlib import Path
from typing import Any

from netclaim.cni import NetworkList, parse_network
from netclaim.network.links.remembered.made_bridges import MadeBridges
from netclaim.network.links.withhold import NodeView, withheld
from tests.support.network_parts import link_of


def bridged(**keys: Any) -> NetworkList:
    """A network with a bridge."""
    return parse_network({"name": "n", "plugins": [{"type": "bridge", **keys}]})


def test_a_bridge_that_is_not_there_yet_is_remembered(tmp_path: Path) -> None:
    """One that the node had before is its own; the default name is a name too."""
    made = MadeBridges(tmp_path, "boot-1")
    made.note(bridged(bridge="br-a"), {"eth0"})
    made.note(bridged(bridge="br-old"), {"eth0", "br-old"})
    made.note(bridged(), {"eth0"})
    made.note(bridged(bridge="../x"), set())
    assert made.names() == {"br-a", "cni0"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["br-a", "cni0"]


def test_a_restart_remembers_and_a_reboot_forgets(tmp_path: Path) -> None:
    """Bridges live as long as the boot they were made in."""
    MadeBridges(tmp_path, "boot-1").note(bridged(bridge="br-a"), set())
    assert MadeBridges(tmp_path, "boot-1").names() == {"br-a"}
    later = MadeBridges(tmp_path, "boot-2")
    assert later.names() == frozenset()
    later.note(bridged(bridge="br-a"), set())
    assert MadeBridges(tmp_path, "boot-2").names() == {"br-a"}


def test_such_a_bridge_is_not_offered() -> None:
    """Nobody joins another claim's network by claiming its bridge."""
    links = (link_of("eth1", 2), link_of("br-a", 3, kind="bridge"))
    view = NodeView(made_bridges=frozenset({"br-a"}))
    assert withheld(links, (), view) == {3: "a plugin created it for a claim"}
