"""Routes, rules and offloads that a claim asks for, as parameters or as a plugin of its network."""

import ipaddress
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from netclaim.network.policy.levels import Level
from netclaim.network.policy.standing import Standing
from netclaim.network.request.parameters import InterfaceRequest
from tests.pure.network.judge.test_permit import asked, network, refused
from tests.support.network_parts import WHERE

OWN: Final = Standing(Level.BASELINE, "team-a", link="eth1")
SHARED: Final = Standing(Level.BASELINE, "team-a", link="eth1", shared="others may use it too")
UPLINK: Final = Standing(
    Level.BASELINE,
    "team-a",
    link="eth0",
    carries="the default route",
    node_networks=(ipaddress.ip_network("10.10.1.0/24"),),
)
PRIVILEGED: Final = Standing(Level.PRIVILEGED, "team-a", link="eth0", carries="the default route")
MACVLAN: Final = {"type": "macvlan"}


def both(settings: dict[str, Any]) -> Sequence[tuple[str, InterfaceRequest]]:
    """The same as parameters, and as a plugin that the claim names; with where that is."""
    plugin = {"type": "link-settings", **settings}
    return [
        (WHERE, asked({"config": network(MACVLAN), **settings})),
        (f"{WHERE}.config.plugins[1]", asked({"config": network(MACVLAN, plugin)})),
    ]


@pytest.mark.parametrize(
    ("settings", "standing", "said"),
    [
        ({"routes": [{"destination": "10.20.0.0/16", "gateway": "10.99.0.1"}]}, UPLINK, ""),
        (
            {"routes": [{"destination": "10.10.1.5/32"}]},
            UPLINK,
            "routes[0].destination: 10.10.1.5/32 overlaps 10.10.1.0/24, the node's own network",
        ),
        (
            {"routes": [{"destination": "0.0.0.0/0", "table": 100}]},
            UPLINK,
            "routes[0].destination: 0.0.0.0/0 overlaps 10.10.1.0/24",
        ),
        (
            {"routes": [{"destination": "10.20.0.0/16", "gateway": "10.10.1.9"}]},
            UPLINK,
            "routes[0].gateway: 10.10.1.9 overlaps 10.10.1.0/24",
        ),
        (
            {"routes": [{"destination": "10.20.0.0/16", "gateway": "127.0.0.1"}]},
            OWN,
            "routes[0].gateway: 127.0.0.1 is not an address that an interface can have",
        ),
        ({"routes": [{"destination": "0.0.0.0/0"}]}, OWN, ""),
        ({"rules": [{"source": "10.1.0.0/16", "table": 100}]}, SHARED, ""),
        (
            {"neighbors": [{"destination": "10.1.0.1", "hardwareAddr": "02:00:00:00:00:01"}]},
            SHARED,
            "neighbors: needs a link that the claim has to itself",
        ),
        (
            {"neighbors": [{"destination": "10.1.0.1", "hardwareAddr": "02:00:00:00:00:01"}]},
            OWN,
            "",
        ),
        (
            {"ethtool": {"features": {"rx-gro": False}}},
            SHARED,
            "ethtool: needs a link that the claim has to itself",
        ),
        ({"ethtool": {"features": {"rx-gro": False}}}, OWN, ""),
        (
            {"ethtool": {"privateFlags": {"legacy-rx": True}}},
            OWN,
            "ethtool.privateFlags: needs the policy level privileged",
        ),
        ({"gsoMaxSize": 40000}, SHARED, "gsoMaxSize: needs a link that the claim has to itself"),
        ({"disableEbpfPrograms": True}, OWN, "disableEbpfPrograms: needs the policy level privil"),
    ],
)
def test_both_ways_are_judged_alike(
    settings: dict[str, Any], standing: Standing, said: str
) -> None:
    """What a parameter may not do, the plugin may not either; privileged, both may."""
    for where, request in both(settings):
        found = "; ".join(refused(request, standing))
        assert (f"{where}.{said}" in found) if said else not found, found
        assert not refused(request, PRIVILEGED)


@pytest.mark.parametrize("setting", [{"vf": {"vlan": 100}}, {"vfio": True}])
def test_what_a_card_decides_is_for_privileged_claims(setting: dict[str, Any]) -> None:
    """As a parameter and inside of the network; and so is a card in the hands of a program."""
    (key,) = setting
    plain, full = {"type": "host-device"}, {"type": "host-device", **setting}
    for where, written in (
        (f"{WHERE}.{key}", {"config": network(plain), **setting}),
        (f"{WHERE}.config.plugins[0].{key}", {"config": network(full)}),
    ):
        request = asked(written)
        (said,) = refused(request, OWN)
        assert f"{where}: needs the policy level privileged" in said
        assert not refused(request, replace(OWN, level=Level.PRIVILEGED))
