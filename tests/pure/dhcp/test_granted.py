"""What a DHCP server gives, read from its answer."""

from ipaddress import IPv4Address

import pytest

from netclaim.dhcp.granted import FOREVER, ROUTES_MAX, GivenRoute, Granted, read_granted
from netclaim.dhcp.message import Kind, MalformedError, Option
from tests.support.dhcp_messages import WANTED, said


def read(address: str = "10.9.0.7", **options: bytes | None) -> Granted:
    """Read an acknowledgement with these options."""
    return read_granted(said(Kind.ACK, 7, IPv4Address(address), **options), WANTED)


def packed(*addresses: str) -> bytes:
    """Addresses one after the other."""
    return b"".join(IPv4Address(each).packed for each in addresses)


def seconds(number: int) -> bytes:
    """A time."""
    return number.to_bytes(4, "big")


def test_an_ordinary_answer() -> None:
    """It has what was asked for, with times by the lease where they are not said."""
    found = read(
        NAME_SERVERS=packed("10.9.0.53", "127.0.0.1", "10.9.0.54"),
        DOMAIN=b"example.net\0",
        MTU=(1400).to_bytes(2, "big"),
    )
    assert found == Granted(
        address="10.9.0.7/24",
        server="10.9.0.1",
        lease_s=3600,
        renewal_s=1800,
        rebinding_s=3150,
        routers=("10.9.0.254",),
        name_servers=("10.9.0.53", "10.9.0.54"),
        domain="example.net",
        mtu=1400,
    )


def test_what_was_not_asked_for_is_not_taken() -> None:
    """A client that asks for no routers gets none, whatever the server says."""
    message = said(Kind.ACK, NAME_SERVERS=packed("10.9.0.53"))
    found = read_granted(message, (Option.SUBNET_MASK,))
    assert (found.address, found.routers, found.name_servers) == ("10.9.0.7/24", (), ())


@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("0.0.0.0", {}),
        ("127.0.0.1", {}),
        ("224.0.0.1", {}),
        ("255.255.255.255", {}),
        ("10.9.0.0", {}),
        ("10.9.0.255", {}),
        ("10.9.0.7", {"SUBNET_MASK": bytes((255, 0, 255, 0))}),
        ("10.9.0.7", {"SUBNET_MASK": bytes((0, 0, 0, 255))}),
        ("10.9.0.7", {"SUBNET_MASK": bytes(4)}),
        ("10.9.0.7", {"SUBNET_MASK": b"\xff"}),
        ("10.9.0.7", {"SERVER": None}),
        ("10.9.0.7", {"SERVER": packed("0.0.0.0")}),
        ("10.9.0.7", {"LEASE_S": seconds(1)}),
    ],
)
def test_what_makes_no_sense(address: str, options: dict[str, bytes | None]) -> None:
    """An address that no interface can have, a network that is none, a lease of no time."""
    with pytest.raises(MalformedError):
        read(address, **options)


@pytest.mark.parametrize(
    ("lease_s", "renewal_s", "rebinding_s", "expected"),
    [
        (100, 10, 20, (10, 20)),
        (100, 30, 20, (20, 20)),
        (100, 10, 100, (10, 87)),
        (100, 0, 0, (50, 87)),
        (2, None, None, (1, 1)),
        (FOREVER, None, None, (FOREVER // 2, int(FOREVER * 0.875))),
    ],
)
def test_times_are_in_order(
    lease_s: int, renewal_s: int | None, rebinding_s: int | None, expected: tuple[int, int]
) -> None:
    """A server that says nonsense about its times does not keep a client from renewing in time."""
    found = read(
        LEASE_S=seconds(lease_s),
        RENEWAL_S=None if renewal_s is None else seconds(renewal_s),
        REBINDING_S=None if rebinding_s is None else seconds(rebinding_s),
    )
    assert (found.renewal_s, found.rebinding_s) == expected
    assert 0 < found.renewal_s <= found.rebinding_s < found.lease_s


def test_routes() -> None:
    """Those with a prefix count before those by class, and a gateway is another machine."""
    by_class = packed("10.0.0.0", "10.9.0.1", "0.0.0.0", "10.9.0.2", "172.16.0.0", "10.9.0.7")
    assert read(STATIC_ROUTES=by_class).routes == (GivenRoute("10.0.0.0/8", "10.9.0.1"),)
    classless = (
        b"\x00" + packed("10.9.0.1") + b"\x19\xc0\xa8\x01\x80" + packed("0.0.0.0")
        + b"\x20" + packed("10.1.1.1", "10.9.0.7") + b"\x21" + packed("10.2.2.2", "10.9.0.1")
    )  # fmt: skip
    assert read(STATIC_ROUTES=by_class, CLASSLESS_ROUTES=classless).routes == (
        GivenRoute("0.0.0.0/0", "10.9.0.1"),
        GivenRoute("192.168.1.128/25"),
    )
    many = (b"\x08\x0a" + packed("10.9.0.1")) * (ROUTES_MAX + 1)
    assert len(read(CLASSLESS_ROUTES=many).routes) == ROUTES_MAX


def test_domains() -> None:
    """Names are compressed as in DNS; one that leads to itself has no end, and is left out."""
    listed = b"\x03eng\x05apple\x03com\x00\x09marketing\xc0\x04"
    assert read(SEARCH=listed).search == ("eng.apple.com", "marketing.apple.com")
    assert read(SEARCH=b"\xc0\x00").search == ()
    assert read(SEARCH=b"\x03a b\x00\x02ok\x00").search == ("ok",)
    assert read(DOMAIN=b"$(reboot).net").domain == ""
