"""What a DHCP server says, for tests of its clients."""

from ipaddress import IPv4Address

from netclaim.dhcp.client import Client, Identity, Send
from netclaim.dhcp.message import REPLY, Kind, Message, Option, decode, encode

MAC = bytes.fromhex("02000a090007")
SERVER = IPv4Address("10.9.0.1")
ADDRESS = IPv4Address("10.9.0.7")
WANTED = (1, 3, 6, 15, 26, 33, 51, 54, 58, 59, 119, 121)
WHO = Identity(MAC, b"\xff-who", wanted=WANTED)
GIVEN: dict[int, bytes] = {
    Option.SERVER: SERVER.packed,
    Option.SUBNET_MASK: bytes((255, 255, 255, 0)),
    Option.LEASE_S: (3600).to_bytes(4, "big"),
    Option.ROUTERS: IPv4Address("10.9.0.254").packed,
}


def said(
    kind: Kind, xid: int = 7, address: IPv4Address = ADDRESS, **options: bytes | None
) -> Message:
    """A server's message; options by their names, None leaves one out."""
    changed = {int(Option[name]): value for name, value in options.items()}
    both = {Option.KIND: bytes((kind,)), **GIVEN, **changed}
    kept = {int(code): value for code, value in both.items() if value is not None}
    return Message(REPLY, xid, MAC, kept, yours=address)


def asked(sent: Send) -> Message:
    """What a client has sent."""
    return decode(sent.content)


def answer(client: Client, sent: Send, kind: Kind, now_s: float, **changed: bytes | None) -> list:  # type: ignore[type-arg]
    """Have a client read a server's answer to what it sent; returns what it makes of it."""
    return client.feed(encode(said(kind, asked(sent).xid, ADDRESS, **changed)), now_s)
