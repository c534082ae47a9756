"""What is published of a link that claims share, and what a claim got of it."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.errors import RequestError
from netclaim.model import AllocatedDevice, Device, Quantity
from netclaim.model.api.dra.device_json import device_json
from netclaim.model.devices.link_name import link_of, slotted
from netclaim.network.devices.shares import (
    Share,
    as_shared,
    as_slots,
    carries_several,
    equal_bandwidth,
    has_alone,
    how_alone,
    share_of,
)
from netclaim.network.plan.interface_plan import InterfacePlan
from netclaim.network.settings.per_link import PerLink, read_bandwidths, read_counts
from tests.support.network_parts import device_of

ETH1 = Device("eth1", {"name": "eth1", "type": "ethernet", "kind": "device", "speed": 10000})
G = 10**9
M = 10**6


def allocated(**fields: Any) -> AllocatedDevice:
    """The device eth1, as the scheduler gave it to a request."""
    return msgspec.structs.replace(device_of("net"), **fields)


def test_what_is_published_of_a_shared_link() -> None:
    """A claim takes one attachment and no bandwidth unless it asks for more."""
    published = device_json(as_shared(ETH1, 32, 10 * G))
    assert published["allowMultipleAllocations"] is True
    assert published["capacity"] == {
        "attachments": {
            "value": "32",
            "requestPolicy": {"default": "1", "validValues": ["1", "32"]},
        },
        "bandwidth": {
            "value": "10G",
            "requestPolicy": {"default": "0", "validRange": {"min": "0", "step": "1M"}},
        },
        "wholeLink": {
            "value": "2",
            "requestPolicy": {"default": "100u", "validValues": ["100u", "2"]},
        },
    }
    assert "bandwidth" not in as_shared(ETH1, 32, 0).capacity


@pytest.mark.parametrize(("attachments", "valid"), [(32, ["1"]), (1, ["1"])])
def test_links_that_are_offered_by_parts_only(attachments: int, valid: list[str]) -> None:
    """Nobody can ask for such a link alone, and nobody has it alone by having its only part."""
    published = as_shared(ETH1, attachments, 0, whole=False)
    assert device_json(published)["capacity"]["attachments"]["requestPolicy"] == {
        "default": "1",
        "validValues": valid,
    }
    assert not share_of(allocated(share_id="a", consumed_capacity={"attachments": "1"})).alone


@given(st.integers(2, 4096), st.integers(M, 10**13), st.integers(0, 10**13))
def test_every_shared_link_can_be_published(attachments: int, bandwidth: int, default: int) -> None:
    """The API's rules hold for slow links and for many shares: the model checks them."""
    capacity = as_shared(ETH1, attachments, bandwidth, default=default).capacity["bandwidth"]
    assert capacity.policy is not None
    assert capacity.policy.default.nanos <= capacity.value.nanos
    assert (capacity.policy.default.nanos > 0) == (default > 0)


def test_a_default_is_the_least_that_a_claim_has() -> None:
    """Where an admin limits who asks for nothing, nobody gets around it by asking for nothing."""
    published = as_shared(ETH1, 32, 10 * G, default=100 * M)
    assert device_json(published)["capacity"]["bandwidth"]["requestPolicy"] == {
        "default": "100M",
        "validRange": {"min": "1M", "step": "1M"},
    }


def test_a_device_with_all_that_it_may_have() -> None:
    """What it has no room for is left out, rather than refused by the API server."""
    full = msgspec.structs.replace(ETH1, attributes={f"a{n}": n for n in range(30)})
    assert set(as_shared(full, 32, 10 * G).capacity) == {"attachments", "bandwidth"}


@given(st.integers(2, 64), st.integers(64 * M, 10**13))
def test_default_shares_fit_the_link(shares: int, bandwidth: int) -> None:
    """As many claims as the link is for can have the default share, and little is left over."""
    part = equal_bandwidth(bandwidth, shares)
    assert part * shares <= bandwidth < (part + M) * shares


@pytest.mark.parametrize(
    ("facts", "several"),
    [
        ({}, True),
        ({"kind": "bond"}, True),
        ({"kind": "veth"}, True),
        ({"kind": "vlan"}, True),
        ({"kind": "tun"}, False),
        ({"isSriovVf": True}, False),
        ({"type": "infiniband"}, False),
    ],
)
def test_which_links_are_shared_by_default(facts: dict[str, Any], several: bool) -> None:
    """Those that people put macvlans, ipvlans and VLANs on."""
    device = msgspec.structs.replace(ETH1, attributes={**ETH1.attributes, **facts})
    assert carries_several(device) == several


@pytest.mark.parametrize(
    ("fields", "share"),
    [
        ({}, Share(alone=True)),
        ({"admin_access": True}, Share()),
        ({"share_id": "a"}, Share()),  # of a driver that published no capacities
        (
            {"share_id": "a", "consumed_capacity": {"attachments": "1", "bandwidth": "312M"}},
            Share(bandwidth=312 * M),
        ),
        (
            {"share_id": "a", "consumed_capacity": {"attachments": "32", "bandwidth": "312M"}},
            Share(alone=True),
        ),
        (
            {"share_id": "a", "consumed_capacity": {"attachments": "1", "wholeLink": "2"}},
            Share(alone=True),
        ),
        (
            {"share_id": "a", "consumed_capacity": {"attachments": "1", "wholeLink": "100u"}},
            Share(),
        ),
        (
            {
                "share_id": "a",
                "consumed_capacity": {
                    "cni.dra.networking.x-k8s.io/attachments": "1",
                    "cni.dra.networking.x-k8s.io/bandwidth": "1500M",
                },
            },
            Share(bandwidth=1500 * M),
        ),
    ],
)
def test_what_the_scheduler_gave(fields: dict[str, Any], share: Share) -> None:
    """All attachments are the link alone, which is not limited; a part of them is limited."""
    assert share_of(allocated(**fields)) == share


def test_a_plan_of_an_older_driver_says_nothing_of_shares() -> None:
    """It reads back, as one without a limit."""
    kept = {"ifName": "net1", "config": {}, "link": "eth1"}
    plan = msgspec.convert(kept, InterfacePlan)
    assert (plan.alone, plan.bandwidth) == (False, 0)
    written = InterfacePlan("net1", {}, alone=True, bandwidth=M)
    assert msgspec.convert(written.to_json(), InterfacePlan) == written


def test_slots_of_a_link() -> None:
    """They have the bandwidth that is said, and names that no other link has."""
    slots = list(as_slots(ETH1, 3, 3333 * M, {"eth1", "eth1-slot-1"}))
    assert [slot.name for slot in slots] == ["eth1-slot-0", "eth1-slot-2"]
    assert [slotted(slot.name) for slot in slots] == ["eth1", "eth1"]
    assert {str(slot.capacity["bandwidth"].value) for slot in slots} == {"3333M"}
    assert slotted("eth1") == slotted("eth1-slot-") == slotted("eth1-slot-01") == ""


def test_how_to_have_a_link_alone() -> None:
    """A claim that shares it is told what to write, or whom to ask."""
    assert how_alone(allocated(), "eth1") == ""
    assert how_alone(allocated(share_id="a"), "eth1") == (
        'write `capacity: {requests: {wholeLink: "1"}}` into the request net'
    )
    assert "--slots eth1=1" in how_alone(allocated(device="eth1-slot-2"), "eth1")
    assert how_alone(allocated(admin_access=True), "eth1") == "leave out adminAccess"
    assert how_alone(allocated(device="eth1-slot-2"), "eth1-slot-2") == ""


def test_whole_link_and_parts_of_it() -> None:
    """Shares, slots and the link itself are one link; a part of it is never the whole."""
    whole = allocated()
    alone = allocated(share_id="a", consumed_capacity={"attachments": "32"})
    share = allocated(share_id="b", consumed_capacity={"attachments": "1"})
    slot = allocated(device="eth1-slot-0")
    assert {link_of(each.device) for each in (whole, alone, share, slot)} == {"eth1"}
    assert link_of("eth2") == "eth2"
    assert [has_alone(each) for each in (whole, alone, share, slot)] == [True, True, False, False]


def test_values_by_link() -> None:
    """The first entry that fits a link counts, in the order in which they were written."""
    read = read_counts(64, "eth1=10")
    by_link = read(["eth1=10", "ens*=4", "32", "eth2=1"])
    assert [by_link.of(link) for link in ("eth1", "ens3", "eth0", "eth2")] == [10, 4, 32, 32]
    assert [by_link.names(link) for link in ("eth1", "ens3", "eth0")] == [True, True, False]
    assert read(["eth1=10"]).of("eth0") is None
    assert by_link.said() == ["eth1=10", "ens*=4", "32", "eth2=1"]
    assert read_bandwidths(["eth1=2.5G", "0"]) == PerLink((("eth1", 2_500_000_000), ("", 0)))


@given(st.lists(st.text(max_size=12), max_size=3))
def test_any_value_is_read_or_refused_in_one_line(values: list[str]) -> None:
    """What a user may write leads to a value or to a RequestError that has an example."""
    for read in (read_counts(64, "eth1=10"), read_bandwidths):
        refused = ""
        try:
            assert isinstance(read(values), PerLink)
        except RequestError as error:
            refused = str(error)
        assert not refused or "eth1=10" in refused


@pytest.mark.parametrize(("capacity", "asked"), [("attachments", "2"), ("wholeLink", "1")])
def test_asking_for_the_whole_link(capacity: str, asked: str) -> None:
    """What a claim writes is rounded up to all there is, however many claims the link is for."""
    for attachments in (2, 3, 32, 4096):
        published = as_shared(ETH1, attachments, 0).capacity[capacity]
        assert published.policy is not None
        amount = Quantity.parse(asked)
        assert next(v for v in published.policy.valid_values if v >= amount) == published.value
        share = published.policy.default.nanos
        assert share * attachments <= published.value.nanos < share + published.value.nanos
        # By these the API server tells values apart; and a share is less than what is asked for.
        whole_numbers = {-(-v.nanos // G) for v in published.policy.valid_values}
        assert len(whole_numbers) == 2
        assert published.policy.default < amount
