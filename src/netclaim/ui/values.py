"""What the page is sent: one small piece for each thing that it draws, each under a key.

A key is the kind and what identifies the thing, for example `pod/default/web`. A piece says only
what the page draws; the rest is asked for when somebody opens it. What has its empty value is left
out. The names of fields become camelCase in JSON; docs/ui.md does not promise them to anybody.
"""

import msgspec

HEAD = "head"  # the key of the only piece that is not about an object


class Piece(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """A part of the picture."""


class Head(Piece, frozen=True, kw_only=True):
    """What is looked at, and how well."""

    source: str
    is_live: bool
    fault: str = ""  # why it may be out of date
    notes: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    version: str = ""


class Node(Piece, frozen=True, kw_only=True):
    """A node."""

    ready: bool | None = None
    cordoned: bool = False


class Amount(Piece, frozen=True, kw_only=True):
    """How much of something there is, as texts and as the part that is used."""

    name: str
    total: str
    used: str
    part: float = 0.0  # from 0 to 1


class Link(Piece, frozen=True, kw_only=True):
    """A device on a node; most are links."""

    node: str
    driver: str
    pool: str
    name: str
    state: str
    shareable: bool = False
    about: tuple[str, ...] = ()  # in a few words: speed, kind
    amounts: tuple[Amount, ...] = ()
    taints: tuple[str, ...] = ()
    claims: int = 0


class Given(Piece, frozen=True, kw_only=True):
    """A device that a claim has, and how much of it."""

    link: str  # its key
    amounts: tuple[tuple[str, str], ...] = ()
    ready: bool | None = None
    unhealthy: str = ""
    node: str = ""


class Claim(Piece, frozen=True, kw_only=True):
    """A claim."""

    state: str
    deleting: bool = False
    classes: tuple[str, ...] = ()
    network: str = ""  # its key
    message: str = ""
    since: str = ""
    devices: tuple[Given, ...] = ()
    pods: tuple[str, ...] = ()  # their keys


class Interface(Piece, frozen=True, kw_only=True):
    """An interface of a pod."""

    name: str
    ips: tuple[str, ...] = ()
    mac: str = ""
    claim: str = ""  # its key


class Pod(Piece, frozen=True, kw_only=True):
    """A pod that uses claims."""

    node: str = ""
    phase: str = ""
    state: str = ""
    waiting: str = ""
    claims: tuple[str, ...] = ()  # their keys
    unmade: tuple[str, ...] = ()  # the templates of claims that are not made yet
    interfaces: tuple[Interface, ...] = ()


class Network(Piece, frozen=True, kw_only=True):
    """A network: a PodNetwork of an admin, or one that claims name in their configuration."""

    name: str
    kind: str  # PodNetwork, or the type of the plugin
    about: tuple[str, ...] = ()
    ready: bool | None = None
    message: str = ""
    claims: int = 0
    pool: str = ""  # the key of its AddressPool


class Pool(Piece, frozen=True, kw_only=True):
    """An AddressPool: how many of its addresses are used, and by which networks."""

    ready: bool | None = None
    message: str = ""
    ranges: tuple[str, ...] = ()
    addresses: Amount | None = None
    kept: int = 0
    free: int = 0
    networks: tuple[str, ...] = ()  # their keys


class Problem(Piece, frozen=True, kw_only=True):
    """Something that is not as it should be; `order` is its place in the list."""

    severity: str
    title: str
    message: str
    hint: str = ""
    about: str = ""  # the key of what it is about
    order: int = 0
