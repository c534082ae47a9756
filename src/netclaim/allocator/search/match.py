"""Which devices a request can take, by the selectors of its class and its own.

Promise: an expression is compiled once and evaluated once for each device, however many claims and
nodes use it; the candidates of a node are collected once for each set of selectors. An error is
kept with the device, since the scheduler meets it only when it gets there.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from netclaim.allocator.cel import CelError, Selector, compile_selector
from netclaim.allocator.cel.trace import Tracer
from netclaim.allocator.errors import AllocationError
from netclaim.allocator.objects.claim import Request, expressions_of
from netclaim.allocator.objects.device import Device
from netclaim.allocator.objects.node import Node
from netclaim.allocator.search.pool import Pool, Pools
from netclaim.model.api.dra.device_class import DeviceClass

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
    """A device that matches, or for which a selector has no answer."""

    device: Device
    fault: AllocationError | None = None


Candidates: TypeAlias = tuple[Candidate, ...]


def selectors_of(device_class: DeviceClass, request: Request) -> tuple[OwnedSelector, ...]:
    """Return the selectors that a device has to match, in the order in which they are asked."""
    owners = (
        (f"class {device_class.name}", expressions_of(device_class.spec.selectors), True),
        (f"request {request.full_name}", request.selectors, False),
    )
    return tuple(
        OwnedSelector(owner, number, expression, of_class)
        for owner, expressions, of_class in owners
        for number, expression in enumerate(expressions)
    )


class Matcher:
    """What selectors are for the devices of one set of slices."""

    def __init__(self, pools: Pools) -> None:
        self._pools = pools
        self._of_node: dict[Node, tuple[Pool, ...]] = {}
        self._selectors: dict[str, Selector | CelError] = {}
        self._tracers: dict[str, Tracer] = {}
        self._verdicts: dict[str, dict[Device, Verdict]] = {}
        self._candidates: dict[tuple[OwnedSelector, ...], dict[Node, Candidates]] = {}

    def pools(self, node: Node) -> tuple[Pool, ...]:
        if node not in self._of_node:
            self._of_node[node] = self._pools.of(node)
        return self._of_node[node]

    def candidates(self, selectors: tuple[OwnedSelector, ...], node: Node) -> Candidates:
        """Return the devices of a node that selectors leave, in the scheduler's order."""
        known = self._candidates.setdefault(selectors, {})
        found = known.get(node)
        if found is None:
            devices = (d for pool in self.pools(node) if pool.usable for d in pool.devices)
            found = known[node] = tuple(self._match(selectors, devices, node))
        return found

    def selector(self, expression: str) -> Selector | CelError:
        """Compile an expression, or return why that is impossible."""
        if expression not in self._selectors:
            try:
                self._selectors[expression] = compile_selector(expression)
            except CelError as error:
                self._selectors[expression] = error
        return self._selectors[expression]

    def tracer(self, selector: Selector) -> Tracer:
        """Return what says clause by clause why a selector is or is not true of a device."""
        known = self._tracers.get(selector.expression)
        if known is None:
            known = self._tracers[selector.expression] = Tracer(selector)
        return known

    def verdict(self, expression: str, device: Device) -> Verdict:
        """Return what an expression is for a device: true, false, or an error."""
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
