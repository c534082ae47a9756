"""Which devices a request can take, by the selectors of its class and its own.

Promise: an expression is compiled once and asked once for each device, whatever number of claims
and nodes use it; the candidates of a node are put together once for each set of selectors. An
error is kept with the device, since the scheduler meets it only when it gets there.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from netclaim.allocator.cel import CelError, Selector, compile_selector
from netclaim.allocator.claim import DeviceClass, Request
from netclaim.allocator.device import Device
from netclaim.allocator.errors import AllocationError
from netclaim.allocator.node import Node
from netclaim.allocator.pool import Pool, Pools

__all__ = ["Candidate", "Candidates", "Matcher", "OwnedSelector", "Verdict", "selectors_of"]

Verdict: TypeAlias = bool | CelError


class OwnedSelector(NamedTuple):
    """A selector, and whose it is: the class's or the request's."""

    owner: str
    number: int
    expression: str
    of_class: bool

    def __str__(self) -> str:
        return f"selector #{self.number} of {self.owner}"


class Candidate(NamedTuple):
    """A device that matches, or that a selector has no answer for."""

    device: Device
    fault: AllocationError | None = None


Candidates: TypeAlias = tuple[Candidate, ...]


def selectors_of(device_class: DeviceClass, request: Request) -> tuple[OwnedSelector, ...]:
    """Return the selectors that a device has to match, in the order in which they are asked."""
    owners = (
        (f"class {device_class.name}", device_class.selectors, True),
        (f"request {request.full_name}", request.selectors, False),
    )
    return tuple(
        OwnedSelector(owner, number, expression, of_class)
        for owner, expressions, of_class in owners
        for number, expression in enumerate(expressions)
    )


class Matcher:
    """The answers of selectors about the devices of one set of slices."""

    def __init__(self, pools: Pools) -> None:
        self._pools = pools
        self._of_node: dict[Node, tuple[Pool, ...]] = {}
        self._selectors: dict[str, Selector | CelError] = {}
        self._verdicts: dict[str, dict[Device, Verdict]] = {}
        self._candidates: dict[tuple[OwnedSelector, ...], dict[Node, Candidates]] = {}

    def pools(self, node: Node) -> tuple[Pool, ...]:
        """Return the pools that a node can use."""
        if node not in self._of_node:
            self._of_node[node] = self._pools.of(node)
        return self._of_node[node]

    def candidates(self, selectors: tuple[OwnedSelector, ...], node: Node) -> Candidates:
        """Return what selectors leave of a node's devices, in the order in which it is tried."""
        known = self._candidates.setdefault(selectors, {})
        found = known.get(node)
        if found is None:
            devices = (d for pool in self.pools(node) if pool.usable for d in pool.devices)
            found = known[node] = tuple(self._match(selectors, devices, node))
        return found

    def selector(self, expression: str) -> Selector | CelError:
        """Compile an expression, or say why it cannot be."""
        if expression not in self._selectors:
            try:
                self._selectors[expression] = compile_selector(expression)
            except CelError as error:
                self._selectors[expression] = error
        return self._selectors[expression]

    def verdict(self, expression: str, device: Device) -> Verdict:
        """Return what an expression is of a device."""
        known = self._verdicts.setdefault(expression, {})
        if device not in known:
            known[device] = self._ask(expression, device)
        return known[device]

    def _ask(self, expression: str, device: Device) -> Verdict:
        selector = self.selector(expression)
        if isinstance(selector, CelError):
            return selector
        if isinstance(device.view, CelError):
            return device.view
        try:
            return selector.matches(device.view)
        except CelError as error:
            return error.with_traceback(None)  # kept for long, and its frames with it

    def _match(
        self, selectors: tuple[OwnedSelector, ...], devices: Iterable[Device], node: Node
    ) -> Iterable[Candidate]:
        for device in devices:
            for selector in selectors:
                verdict = self.verdict(selector.expression, device)
                if verdict is False:
                    break
                if isinstance(verdict, CelError):
                    yield Candidate(device, _fault(selector, device, verdict))
                    break
            else:
                if not device.own_nodes or device.nodes.matches(node):
                    yield Candidate(device)


def _fault(selector: OwnedSelector, device: Device, error: CelError) -> AllocationError:
    fault = AllocationError(f"{selector}, on device {device.id}: {error}")
    fault.__cause__ = error
    return fault
