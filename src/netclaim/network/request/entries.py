"""Where in a claim or its classes a parameter stands: the first step of a path to it.

    spec.devices.config[net].opaque.parameters.ifName     an entry of the claim, by its request
    DeviceClass(net).spec.config.opaque.parameters.kind   an entry of the request's class
    spec.devices.requests[net]                            the request itself

An allocated claim does not say on which line, or under which number, its entries were written. So
the first step is not a key of a document but one of these values, which know what they stand for;
as text they read as above. Values only.
"""

from collections.abc import Sequence


class Entry(str):
    """An entry of `config`: `number` is its place among the claim's configurations."""

    __slots__ = ("number", "of_class", "request")

    number: int
    request: str  # the one it was read for, without the alternative
    of_class: bool

    @classmethod
    def of_claim(cls, number: int, request: str, names: Sequence[str]) -> "Entry":
        """An entry of the claim, spoken of by the requests in `names`."""
        entry = cls(f"spec.devices.config[{','.join(names)}]")
        entry.number, entry.request, entry.of_class = number, request, False
        return entry

    @classmethod
    def of_device_class(cls, number: int, request: str) -> "Entry":
        """An entry of a request's DeviceClass."""
        entry = cls(f"DeviceClass({request}).spec.config")
        entry.number, entry.request, entry.of_class = number, request, True
        return entry


class Requested(str):
    """A request of the claim."""

    __slots__ = ("request",)

    request: str  # without the alternative

    @classmethod
    def named(cls, request: str) -> "Requested":
        """The request of this name."""
        step = cls(f"spec.devices.requests[{request}]")
        step.request = request
        return step
