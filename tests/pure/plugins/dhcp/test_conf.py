"""The configuration of dhcp, and what a client says by it."""

from dataclasses import replace
from typing import Any

import pytest

from netclaim.cni import Endpoint, IPConfig, Route
from netclaim.dhcp.granted import GivenRoute, Granted
from netclaim.dhcp.message import Option
from netclaim.plugins import PLUGIN_TYPES
from netclaim.plugins.dhcp.conf import (
    DEFAULT,
    NEEDED,
    ProvideConf,
    RequestConf,
    client_id,
    provided,
    wanted,
)
from netclaim.plugins.dhcp.dhcp import result_of
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.plugin import Asked
from netclaim.plugins.strict import strict_faults

ENDPOINT = Endpoint("sandbox-1", "/run/netns/a", "net1", (("K8S_POD_UID", "pod-1"),))
GRANTED = Granted("10.9.0.7/24", "10.9.0.1", 60, 30, 50, routers=("10.9.0.254",))


def said(**config: Any) -> list[str]:
    """What is wrong with a network that has its addresses from a server."""
    network = {"type": "macvlan", **config}
    network["ipam"] = {"type": "dhcp", **network.get("ipam", {})}
    asked = Asked("1.0.0")
    return [str(each) for each in strict_faults(network, (), asked=asked, in_process=PLUGIN_TYPES)]


def test_keys_of_the_reference_program() -> None:
    """They are known, the one that is of no use here too."""
    assert (
        said(
            ipam={
                "daemonSocketPath": "/run/cni/dhcp.sock",
                "request": [{"skipDefault": True}, {"option": "121"}],
                "provide": [{"option": "host-name", "fromArg": "K8S_POD_NAME"}],
                "priority": 50,
            }
        )
        == []
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"ipam": {"subnet": "10.0.0.0/8"}}, 'ipam.subnet: unknown key "subnet"'),
        ({"ipam": {"request": [{"option": "speed"}]}}, "'speed' is no option: write its number"),
        ({"ipam": {"request": [{"option": "256"}]}}, "256 belongs to the protocol itself"),
        ({"ipam": {"provide": [{"option": "53", "value": "x"}]}}, "53 belongs to the protocol"),
        ({"ipam": {"provide": [{"value": "x"}]}}, "option is missing; for example host-name"),
        ({"ipam": {"provide": [{"option": "12"}] * 9}}, "has 9 options, and may have 8"),
        ({"type": "ipvlan", "mode": "l3"}, "mode: an ipvlan of the mode l3 cannot ask a DHCP"),
        ({"type": "dummy"}, "ipam.type: there is no DHCP server behind a dummy"),
    ],
)
def test_mistakes(config: dict[str, Any], message: str) -> None:
    """What no server could be asked with is said before the pod exists."""
    (found,) = said(**config)
    assert message in found


def test_what_is_asked_for() -> None:
    """The usual, what is listed, and what a client needs in any case."""
    assert wanted(()) == (*DEFAULT, *NEEDED)
    listed = (RequestConf(skip_default=True), RequestConf(option="121"), RequestConf(option="42"))
    assert wanted(listed) == (Option.SUBNET_MASK, 121, 42, *NEEDED)


def test_what_is_sent() -> None:
    """A text, or what the runtime says of the pod; nothing where there is nothing to say."""
    args = (("K8S_POD_NAME", "web-0"),)
    options = (
        ProvideConf(option="host-name", value="a-pod", from_arg="K8S_POD_NAME"),
        ProvideConf(option="60", value="netclaim"),
        ProvideConf(option="77", from_arg="UNKNOWN"),
    )
    assert provided(options, args) == {12: b"web-0", 60: b"netclaim"}
    with pytest.raises(ConfError, match="more than 255 bytes"):
        provided((ProvideConf(option="12", value="x" * 256),), ())


def test_client_ids() -> None:
    """The same in the next sandbox of a pod; another for another pod, and another interface."""
    own = client_id(ENDPOINT)
    assert client_id(replace(ENDPOINT, container_id="sandbox-2")) == own
    others = [
        replace(ENDPOINT, ifname="net2"),
        replace(ENDPOINT, args=(("K8S_POD_UID", "pod-2"),)),
        replace(ENDPOINT, args=()),
        replace(ENDPOINT, args=(), container_id="sandbox-2"),
    ]
    assert len({own, *map(client_id, others)}) == 1 + len(others)
    assert len(own) <= 255


def test_results() -> None:
    """A router is the default route unless there are routes, and routes may have a metric."""
    assert result_of(GRANTED, 50).routes == (Route("0.0.0.0/0", gw="10.9.0.254", priority=50),)
    to_lan = replace_routes(GivenRoute("10.1.0.0/16", "10.9.0.1"))
    found = result_of(to_lan)
    assert found.routes == (Route("10.1.0.0/16", gw="10.9.0.1"),)
    assert found.ips == (IPConfig("10.9.0.7/24", "10.9.0.254"),)
    on_link = result_of(replace_routes(GivenRoute("10.1.0.0/16")))
    assert on_link.ips == (IPConfig("10.9.0.7/24"),)  # else the route would take the router


def replace_routes(*routes: GivenRoute) -> Granted:
    """The same address with these routes."""
    return Granted("10.9.0.7/24", "10.9.0.1", 60, 30, 50, routers=("10.9.0.254",), routes=routes)
