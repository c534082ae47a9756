"""Whether a claim may have the addresses of pools that it has shares of."""

from typing import Any

import msgspec
import pytest

from netclaim.errors import RequestError
from netclaim.model import AllocatedDevice, Claim
from netclaim.model.claims.claim import ReportedDevice
from netclaim.network.pools.terms import check_shares
from netclaim.network.request.parameters import read_claim
from tests.pure.network.pools.test_leases import DRIVER, Node
from tests.support.pool_objects import StoredObjects


def sharing(*pools: str, source: str = "FromClass", **ipam: Any) -> Claim:
    """A claim with one interface, and shares of pools."""
    claim = Node(StoredObjects()).claim(ipam=ipam, source=source)
    shares = tuple(
        AllocatedDevice("address", DRIVER, f"addresses/{name}", name, str(number))
        for number, name in enumerate(pools)
    )
    return msgspec.structs.replace(claim, wide=shares)


@pytest.mark.parametrize("claim", [sharing(), sharing("media")])
def test_a_share_for_each_interface_is_right(claim: Claim) -> None:
    """So is none at all, as claims of before have it."""
    check_shares(claim, read_claim(claim))


@pytest.mark.parametrize("claim", [sharing("earlier"), sharing("earlier", type="static")])
def test_a_share_of_the_earlier_pool_of_a_network_is_right(claim: Claim) -> None:
    """Its template was written before the admin gave the network another pool, or none."""
    check_shares(claim, read_claim(claim))


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        (sharing("media", "media"), "asks for 2 addresses of the pool media, and .* the pool is 1"),
        (sharing(*["media"] * 32), "requests for addresses.media"),
        (sharing("media", "other"), "asks for 1 addresses of the pool other, .* is 0"),
        (sharing("earlier", "earlier"), "asks for 2 addresses of the pool earlier, .* is 0"),
        (sharing("earlier", "other", "other"), "asks for 2 addresses of the pool other, .* is 0"),
        (sharing("media", source="FromClaim", type="static"), "pool media, .* is 0"),
        (sharing("other", source="FromClaim"), "pool other, .* is 0"),
    ],
)
def test_more_shares_than_interfaces_are_refused(claim: Claim, says: str) -> None:
    """Nobody would have these addresses while the pod runs."""
    with pytest.raises(RequestError, match=says):
        check_shares(claim, read_claim(claim))


def test_what_a_pod_has_stays() -> None:
    """Its network may have got another pool since."""
    claim = sharing("other", "other")
    had = ReportedDevice(DRIVER, claim.devices[0].key, "2026-11-19T12:00:00Z")
    claim = msgspec.structs.replace(claim, reported=(had,))
    check_shares(claim, read_claim(claim))
