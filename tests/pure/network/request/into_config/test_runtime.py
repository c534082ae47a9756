"""What the runtime tells programs that ask for it."""

from typing import Any

from netclaim.cni import NetworkList, parse_network
from netclaim.network.request.into_config.runtime import asks_for_device, with_runtime

PCI = "0000:3b:00.1"
BOTH = {"deviceID": True, "bandwidth": True}


def network(*plugins: dict[str, Any]) -> NetworkList:
    """A network of these plugins."""
    return parse_network({"cniVersion": "1.0.0", "name": "n", "plugins": list(plugins)})


def given(found: NetworkList) -> list[Any]:
    """What each plugin gets."""
    return [plugin.config.get("runtimeConfig") for plugin in found.plugins]


def test_a_program_that_declares_it_knows_its_device_and_its_bandwidth() -> None:
    """In the words of the conventions of CNI: bits per second, and bits."""
    found = network({"type": "ovs", "capabilities": BOTH, "runtimeConfig": {"mac": "x"}})
    assert asks_for_device(found)
    (said,) = given(with_runtime(found, PCI, 1_000_000))
    assert said == {
        "mac": "x",
        "deviceID": PCI,
        "bandwidth": {
            "ingressRate": 1_000_000,
            "egressRate": 1_000_000,
            "ingressBurst": 10_000,
            "egressBurst": 10_000,
        },
    }


def test_what_is_not_known_or_not_declared_is_not_passed() -> None:
    """A capability that is switched off is not declared."""
    quiet = network({"type": "ovs", "capabilities": {"deviceID": False}}, {"type": "other"})
    assert not asks_for_device(quiet)
    assert given(with_runtime(quiet, PCI, 1_000_000)) == [None, None]
    assert given(with_runtime(network({"type": "ovs", "capabilities": BOTH}), "", 0)) == [None]


def test_plugins_of_ours_get_the_link_itself() -> None:
    """And the driver limits what they make."""
    own = network({"type": "host-device", "capabilities": BOTH, "device": "eth1"})
    assert not asks_for_device(own)
    assert with_runtime(own, PCI, 1_000_000) == own
