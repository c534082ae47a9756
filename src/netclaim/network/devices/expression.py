"""An expression about links, in CEL: which of them the settings want to be offered.

Promise: it sees a link exactly as selectors see the link's device, and beyond that the node, by its
name and labels. Limit: what an expression decides is said where it is asked; importing this costs
2 MB, so it is done where there is an expression.
"""

from dataclasses import dataclass, field

from netclaim.allocator.cel import (
    CompileError,
    EvaluationError,
    NodeSelector,
    compile_on_node,
    device_view,
)
from netclaim.manifests.near import near
from netclaim.model import Device, device_json
from netclaim.model.api.dra.slice import PublishedDevice
from netclaim.model.on_node.node import NodeFacts
from netclaim.network.devices.device import ATTRIBUTES


@dataclass(frozen=True, slots=True)
class LinkExpression:
    """An expression; two of the same text are equal."""

    text: str
    selector: NodeSelector = field(compare=False)

    @property
    def reads_labels(self) -> bool:
        """Whether its value may change with the node's labels."""
        return self.selector.reads_labels

    def check_attributes(self, driver: str) -> None:
        """Refuse to read what no device of the driver ever has: it would hide every link."""
        by_domain: dict[str, list[str]] = {}
        for each in ATTRIBUTES:
            domain, slash, name = each.rpartition("/")
            by_domain.setdefault(domain if slash else driver, []).append(name)
        for read in self.selector.reads:
            if read.domain not in by_domain:
                known = ", ".join(by_domain)
                reason = f"devices have no attributes of {read.domain!r}, only of {known}"
                raise CompileError(reason, self.text, read.offset)
            if read.name not in by_domain[read.domain]:
                guess = near(read.name, by_domain[read.domain])
                hint = f"; did you mean {guess!r}?" if guess else ""
                reason = f"no device has an attribute {read.name!r}{hint}"
                raise CompileError(reason, self.text, read.offset)

    def matches(self, driver: str, device: Device, node: NodeFacts) -> bool:
        """Whether it is true of a link; an EvaluationError says why it is neither."""
        if node.labels is None and self.reads_labels:
            raise EvaluationError("the node's labels are not known yet")
        on_node = self.selector.on(node.name, node.labels or {})
        return on_node.matches(device_view(driver, PublishedDevice.read(device_json(device))))


def link_expression(text: str) -> LinkExpression:
    """Compile an expression; a CompileError says what is wrong with it, and where."""
    text = text.strip()
    return LinkExpression(text, compile_on_node(text))
