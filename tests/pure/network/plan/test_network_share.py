"""A tenant gets of a network's link what the network says, whatever their claim asks for."""

from typing import Any

import pytest

from netclaim.model import AllocatedDevice
from netclaim.network.devices.shares import Share, share_of
from netclaim.network.errors import PolicyError
from netclaim.network.plan.network_share import check_network_share
from netclaim.network.pod_network import parameters_of
from netclaim.network.request.parameters import read_claim
from tests.support.network_parts import DRIVER, claim_of, config_of
from tests.support.networks import network

MEGABIT = 10**6


def checked(
    consumed: dict[str, str], *, usual: int = 0, share_id: str | None = "1", **spec: Any
) -> None:
    """Hold a share of a network's link against the network."""
    found = network(**spec)
    device = AllocatedDevice("net", DRIVER, "node", "eth1", share_id, consumed_capacity=consumed)
    configs = config_of(parameters_of(found), "net", source="FromClass")
    (request,) = read_claim(claim_of(configs, devices=(device,)))
    check_network_share(request, share_of(device), found, usual=usual)


@pytest.mark.parametrize("capacity", ["attachments", "wholeLink"])
def test_nobody_takes_a_shared_link_from_the_others(capacity: str) -> None:
    """Unless the network is one that takes the link, or the link is for one claim in any case."""
    alone = {capacity: "2"}
    with pytest.raises(PolicyError, match="the network media-net shares its link") as caught:
        checked(alone)
    assert caught.value.path[0] == "spec.devices.requests[net]"
    checked(alone, sharing={"alone": True})
    checked(alone, type="hostDevice")
    checked({}, share_id=None)


def test_bandwidth_needs_to_be_allowed() -> None:
    """What the network gives, rounded up as the scheduler does, is no choice of the claim's."""
    with pytest.raises(PolicyError, match="add bandwidth to spec"):
        checked({"bandwidth": "2G"}, sharing={"bandwidth": "1G"})
    with pytest.raises(PolicyError, match="choose their bandwidth"):
        checked({"bandwidth": "1M"})
    checked({"bandwidth": "2M"}, sharing={"bandwidth": "1500k"})
    checked({"bandwidth": "2G"}, sharing={"bandwidth": "1G"}, allow=["bandwidth"])
    checked({"bandwidth": "5M"}, usual=5 * MEGABIT)
    checked({"bandwidth": "0"})


def test_a_share_without_bandwidth_is_no_question() -> None:
    """A link whose speed nobody knows has none to share out."""
    assert share_of(AllocatedDevice("net", DRIVER, "node", "eth1", "1")) == Share()
    checked({})
