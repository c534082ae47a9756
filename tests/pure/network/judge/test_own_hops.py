"""A gateway that is the interface's own address is none: such a route is one on the link itself."""

from dataclasses import replace
from typing import Any

import pytest

from netclaim.network.policy.levels import Level
from tests.pure.network.judge.test_addresses import ON_ITS_LINK, UPLINK, macvlan
from tests.pure.network.judge.test_permit import asked, network, refused

OWN = "10.99.0.5"
HERE = {"address": f"{OWN}/24"}
WIDE = {"dst": "10.0.0.0/8"}
RANGE = {"type": "host-local", "ranges": [[{"subnet": "10.99.0.0/24", "gateway": "10.99.0.1"}]]}
SETTINGS = {"type": "link-settings", "routes": [{"destination": "10.0.0.0/8", "gateway": OWN}]}


def static(*addresses: dict[str, str], **more: Any) -> dict[str, Any]:
    """A network with these addresses."""
    return network(macvlan({"type": "static", "addresses": [*addresses], **more}))


WITH_OWN_GATEWAYS: dict[str, dict[str, Any]] = {
    "of its address": {"config": static({**HERE, "gateway": OWN}, routes=[{"dst": "0.0.0.0/0"}])},
    "with no route, as sbr makes one": {"config": static({**HERE, "gateway": OWN})},
    "of another address": {"config": static(HERE, {"address": "10.98.0.5/24", "gateway": OWN})},
    "of a route": {"config": static(HERE, routes=[{**WIDE, "gw": OWN}])},
    "of a route beside config": {
        "config": static(HERE),
        "routes": [{"destination": "10.0.0.0/8", "gateway": OWN}],
    },
    "of an address that is chosen": {
        "config": network(macvlan({"type": "static", "routes": [{**WIDE, "gw": OWN}]})),
        "ips": [f"{OWN}/24"],
    },
    "that a range may give": {
        "config": network(macvlan({**RANGE, "routes": [{**WIDE, "gw": OWN}]}))
    },
    "of a plugin": {"config": network(macvlan({"type": "static", "addresses": [HERE]}), SETTINGS)},
}


@pytest.mark.parametrize("written", WITH_OWN_GATEWAYS.values(), ids=WITH_OWN_GATEWAYS)
def test_a_gateway_that_may_be_its_own_is_refused(written: dict[str, Any]) -> None:
    """On a link that carries the node, whichever keys bring the two."""
    said = refused(asked(written), UPLINK)
    assert [one for one in said if f"{OWN} may be the interface's own address" in one]


@pytest.mark.parametrize("written", WITH_OWN_GATEWAYS.values(), ids=WITH_OWN_GATEWAYS)
@pytest.mark.parametrize("standing", [ON_ITS_LINK, replace(UPLINK, level=Level.PRIVILEGED)])
def test_elsewhere_it_harms_nobody(written: dict[str, Any], standing: Any) -> None:
    """On a link of its own a claim may, and so may one that is privileged."""
    assert not [one for one in refused(asked(written), standing) if "own address" in one]


@pytest.mark.parametrize(
    "written",
    [
        {"config": static({**HERE, "gateway": "10.99.0.1"}, routes=[{**WIDE, "gw": "10.99.0.1"}])},
        {"config": network(macvlan({**RANGE, "routes": [{**WIDE, "gw": "10.99.0.1"}]}))},
    ],
)
def test_a_router_is_a_gateway(written: dict[str, Any]) -> None:
    """Another machine's address is one, also in the network of a range that leaves it out."""
    assert refused(asked(written), UPLINK) == []
