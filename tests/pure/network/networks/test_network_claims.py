"""A claim that got a network's device gets the network; what no admin meant is refused."""

from typing import Any

import pytest

from netclaim.errors import PeerError, RequestError
from netclaim.model import Claim
from netclaim.network.networks.claims import with_networks
from netclaim.network.networks.known import KnownNetworks
from netclaim.network.pod_network import parameters_of
from netclaim.network.request.interface_request import InterfaceRequest
from netclaim.network.request.parameters import read_claim
from tests.support.network_parts import MACVLAN, TYPED, claim_of, config_of, device_of
from tests.support.networks import known, network

DEVICE = "media-net-on-eth1"
TEAM: dict[str, Any] = {"matchLabels": {"team": "media"}}


def got(*configs: Any, device: str = DEVICE) -> Claim:
    """A claim with that device."""
    return claim_of(*configs, devices=(device_of("net", device),))


def read(claim: Claim, there: KnownNetworks) -> InterfaceRequest:
    """What the driver reads of the claim."""
    (request,) = read_claim(with_networks(claim, there))
    return request


def test_a_claim_without_configuration_gets_the_network() -> None:
    """Its name, its configuration, and whose claims may use it."""
    request = read(got(), known(network(ifName="net7", namespaces=TEAM)))
    assert (request.ifname, request.pod_network, request.trusted) == ("net7", "media-net", True)
    assert request.namespaces.selects({"team": "media"})
    assert not request.namespaces.selects({})


def test_what_the_claim_says_stays_the_claims() -> None:
    """It may name its interface; a network of its own is judged as one of a class's claim."""
    request = read(got(config_of(TYPED, "net")), known(network()))
    assert request.ifname == "net1"
    assert set(request.claimed) >= {"ifName", "config"}
    assert not request.trusted
    assert request.class_has_config
    assert request.allowed == frozenset()


@pytest.mark.parametrize("key", ["namespaces", "allow", "podNetwork"])
def test_a_claim_cannot_say_what_an_admin_says(key: str) -> None:
    """Neither to whom the network is, nor what is allowed, nor which it is."""
    parameters = {**TYPED, key: {"namespaces": {}, "allow": ["ips"]}.get(key, "other")}
    del parameters["config"]
    with pytest.raises(RequestError, match=key):
        read(got(config_of(parameters, "net")), known(network()))


def test_a_class_of_the_network_says_it_already() -> None:
    """As it was when the device was allocated, whatever the network is now."""
    parameters = parameters_of(network(ifName="then"))
    claim = got(config_of(parameters, "net", source="FromClass"))
    assert read(claim, known(network(ifName="now"))).ifname == "then"
    assert read(claim, known()).ifname == "then"


def test_a_class_for_links_does_not_get_a_network() -> None:
    """Its configuration would be put on the network's link with the network's count."""
    own = {**TYPED, "config": MACVLAN}
    for parameters in (own, {**own, "podNetwork": "other"}):
        with pytest.raises(RequestError, match='kind != "network" to the class'):
            read(got(config_of(parameters, "net", source="FromClass")), known(network()))


def test_a_network_that_is_not_known() -> None:
    """Before the API server has listed the networks it may pass; afterwards it is gone."""
    unknown = KnownNetworks(known()._path)
    with pytest.raises(PeerError, match="not known yet"):
        read(got(), unknown)
    with pytest.raises(RequestError, match="is gone"):
        read(got(), known())


def test_a_request_for_several_networks() -> None:
    """One request is one configuration."""
    devices = (device_of("net", DEVICE), device_of("net", "other-on-eth1"))
    with pytest.raises(RequestError, match="networks media-net and other"):
        with_networks(claim_of(devices=devices), known(network(), network("other")))


def test_links_are_left_alone() -> None:
    """Also one whose name reads like a network's device."""
    claim = claim_of(config_of(TYPED))
    assert with_networks(claim, known(network())) is claim
