"""A node as the API server describes it, as far as a driver needs to know."""

import msgspec


class NodeFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Its labels, by which addresses it is reached, and by which it reaches the API server."""

    name: str = ""
    addresses: tuple[str, ...] = ()  # of the Node object's status, without host names
    api_addresses: tuple[str, ...] = ()  # of the API servers, and of what leads to them
    labels: dict[str, str] | None = None  # of the Node object; None: not known
