"""A selector that also knows the node: for a driver's own settings, never for the scheduler.

Promise: every selector is such an expression and means the same; in addition there is `node`, with
its name and its labels. Limit: the node is fixed when `on` is called.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from netclaim.allocator.cel.check.checker import Checked, check
from netclaim.allocator.cel.check.environment import NODE, VARIABLES_ON_NODE, path_of
from netclaim.allocator.cel.run.compiler import compile_node
from netclaim.allocator.cel.selector import Selector, bounded
from netclaim.allocator.cel.syntax import ast
from netclaim.allocator.cel.syntax.parser import parse


@dataclass(frozen=True, slots=True)
class AttributeRead:
    """Where an expression reads an attribute that a device must have."""

    domain: str
    name: str
    offset: int  # in the expression


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """An expression that is true of some devices on some nodes."""

    expression: str
    checked: Checked
    reads_labels: bool  # of the node
    reads: tuple[AttributeRead, ...]  # by constant names, and without asking whether it is there

    def on(self, name: str, labels: Mapping[str, str]) -> Selector:
        """Return the selector that it is on a node."""
        node = {"name": name, "labels": dict(labels)}
        program = compile_node(self.checked, self.checked.root, {NODE: node})
        return Selector(self.expression, self.checked, program)


def compile_on_node(expression: str) -> NodeSelector:
    """Compile an expression; a CompileError says what is wrong with it, and where."""
    with bounded(expression):
        checked = check(parse(expression), expression, VARIABLES_ON_NODE)
        nodes = tuple(_all(checked.root))
        return NodeSelector(expression, checked, any(map(_is_labels, nodes)), tuple(_reads(nodes)))


def _all(node: ast.Node) -> Iterator[ast.Node]:
    yield node
    for child in ast.children(node):
        yield from _all(child)


def _reads(nodes: Iterable[ast.Node]) -> Iterator[AttributeRead]:
    for node in nodes:
        path = path_of(node)
        if path is not None and path.kind == "attributes":
            yield AttributeRead(path.domain, path.name, node.at)


def _is_labels(node: ast.Node) -> bool:
    return isinstance(node, ast.Select) and node.field == "labels"
