"""Read manifests: each YAML or JSON document with its data, exact text and place in the file.

Promise: the documents' texts joined are the file; a fault is one line that begins with file and
line. A document keeps its text alone; its nodes, which take many times as much, are composed again
where somebody asks for a place. Limit: files of 4 MiB, a hundred levels, and aliases that unfold to
a bounded size, so that no manifest can stall or exhaust its reader.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import yaml

from netclaim.errors import RequestError
from netclaim.manifests.text.json_stream import as_yaml, json_parts
from netclaim.manifests.text.yaml_dialect import KubeLoader
from netclaim.paths import Path, show

SIZE_MAX: Final = 4 << 20  # a thousand times a large manifest; one object is at most 1.5 MiB
DEPTH_MAX: Final = 100  # a pod's deepest field is at 14
NODES_MAX: Final = 500_000  # with aliases unfolded; 4 MiB of text alone has fewer
COMPOSED_MAX: Final = 4  # documents whose nodes are kept; places are asked for one after another
MERGE: Final = "<<"
ALIAS: Final = "*"
NULL: Final = "tag:yaml.org,2002:null"
NO_MANIFEST: Final = "not a manifest; a manifest is an object with apiVersion and kind"


class ManifestError(RequestError):
    """A file, at a line, that cannot be read as manifests."""

    def __init__(self, source: str, line: int, message: str) -> None:
        super().__init__(f"{source}:{line}: {message}")
        self.source = source
        self.line = line


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file."""

    source: str  # the file, as the user named it
    first_line: int  # of `text` in the file, from 1
    text: str  # with its `---`, comments and newlines
    is_empty: bool  # as Helm leaves documents between two `---`

    @property
    def root(self) -> yaml.Node | None:
        """The document's nodes; None if there is nothing but comments."""
        return _composed(self.text)

    def field(self, key: str) -> str:
        """Return a field of the top level if it is plain text, for example `kind`; else nothing."""
        child = _child(self.root, key)
        return child.value if isinstance(child, yaml.ScalarNode) else ""

    def data(self) -> Any:
        """Return the document's data, built anew."""
        try:
            if MERGE in self.text or self.root is None:  # merging would change the nodes
                return yaml.load(as_yaml(self.text), Loader=KubeLoader)  # noqa: S506 - a safe one
            return KubeLoader("").construct_document(self.root)
        except yaml.MarkedYAMLError as error:
            raise self.fault(f"{error.problem}{_hint(self.text)}", _line(error)) from error
        except (ValueError, TypeError, RecursionError) as error:  # a malformed number, key or tag
            raise self.fault(str(error)) from error

    def entries(self) -> Iterator[tuple[Path, Any]]:
        """Yield each object with its place: the document itself, or the items of a List.

        An empty document has none. The caller has to check whether an item is an object.
        """
        if self.is_empty:
            return
        if not isinstance(self.root, yaml.MappingNode):
            raise self.fault_at((), NO_MANIFEST)
        yield from self._unfold(self.data(), ())

    def _unfold(self, value: Any, at: Path) -> Iterator[tuple[Path, Any]]:
        if not isinstance(value, dict) or value.get("kind") != "List":
            yield at, value
            return
        items = value.get("items")
        if not isinstance(items, list | None):
            place: Path = (*at, "items")
            raise self.fault_at(
                place, f"{show(place)}: is not a list; a List has its objects there"
            )
        for number, item in enumerate(items or ()):
            yield from self._unfold(item, (*at, "items", number))

    def fault(self, message: str, line: int = 0) -> ManifestError:
        """Return an error at a line of this document, counted from 0."""
        return ManifestError(self.source, self.first_line + line, message)

    def fault_at(self, path: Path, message: str) -> ManifestError:
        """Return an error at the line of a field."""
        return ManifestError(self.source, self.line_of(path), message)

    def node_at(self, path: Path) -> yaml.Node | None:
        """Return the node of a field; None if there is no such field."""
        node = self.root
        for step in path:
            node = _child(node, step)
        return node

    def line_of(self, path: Path) -> int:
        """Return the file's line of a field, or of the nearest thing around it that exists."""
        node, line = self.root, 0
        for step in path:
            key = _key_node(node, step)
            node = _child(node, step)
            if node is None:
                break
            line = (key or node).start_mark.line
        if not path and node is not None:
            line = node.start_mark.line
        return self.first_line + line


def decode(content: bytes, source: str) -> str:
    """Return a file's content as text."""
    if len(content) > SIZE_MAX:
        raise ManifestError(source, 1, f"larger than {SIZE_MAX >> 20} MiB; split it")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ManifestError(source, line, "not UTF-8 text; is it a binary file?") from error


def read_documents(text: str, source: str) -> tuple[Document, ...]:
    """Return the documents of a file, in order, including empty ones."""
    documents: list[Document] = []
    first_line = 1
    for part in json_parts(text):
        for chunk in _cut(part, source, first_line):
            root = _compose(chunk, source, first_line)
            is_empty = root is None or root.tag == NULL
            documents.append(Document(source, first_line, chunk, is_empty))
            first_line += chunk.count("\n")
    return tuple(documents)


def read_document(content: bytes, source: str) -> Document:
    """Return the one document of a file that holds no manifests, for example a kubeconfig."""
    documents = read_documents(decode(content, source), source)
    first, *others = [one for one in documents if not one.is_empty] or documents
    if others and not first.is_empty:
        raise others[0].fault("there is a second document; this file must have only one")
    return first


def _cut(text: str, source: str, first_line: int) -> list[str]:
    """Return the texts of the documents."""
    try:
        starts = _document_starts(as_yaml(text), source, first_line)
    except yaml.MarkedYAMLError as error:
        message = f"not YAML: {error.problem or error.context}{_hint(text)}"
        raise ManifestError(source, first_line + _line(error), message) from error
    except yaml.reader.ReaderError as error:
        line = first_line + text.count("\n", 0, int(error.position))
        raise ManifestError(source, line, "not YAML: found a control character") from error
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def _compose(text: str, source: str, first_line: int) -> yaml.Node | None:
    try:
        root = _composed(text)
    except yaml.MarkedYAMLError as error:  # an alias to nothing
        line = first_line + _line(error)
        raise ManifestError(source, line, f"not YAML: {error.problem}") from error
    if ALIAS in text:
        _check_aliases(root, source, first_line)
    return root


@lru_cache(maxsize=COMPOSED_MAX)
def _composed(text: str) -> yaml.Node | None:
    root: yaml.Node | None = yaml.compose(as_yaml(text), Loader=KubeLoader)
    return root


def _hint(text: str) -> str:
    return "; is it a Helm template? Render it first" if "{{" in text else ""


def _document_starts(text: str, source: str, first_line: int) -> list[int]:
    """Return where each document begins; the first includes everything before it."""
    starts: list[int] = []
    depth = 0
    for event in yaml.parse(text, Loader=KubeLoader):
        if isinstance(event, yaml.DocumentStartEvent):
            starts.append(_place(event)[0] if starts else 0)
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH_MAX:
                line = first_line + _place(event)[1]
                raise ManifestError(source, line, f"nested deeper than {DEPTH_MAX} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return starts or [0]


def _check_aliases(root: yaml.Node | None, source: str, first_line: int) -> None:
    """Refuse an alias within its own anchor, and aliases that unfold without bound."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size(node: yaml.Node) -> int:
        line = first_line + node.start_mark.line
        if id(node) in open_nodes:
            raise ManifestError(source, line, "an anchor contains an alias to itself")
        if len(open_nodes) > DEPTH_MAX:
            raise ManifestError(source, line, f"nested deeper than {DEPTH_MAX} levels by aliases")
        if id(node) not in sizes:
            open_nodes.add(id(node))
            sizes[id(node)] = 1 + sum(size(child) for child in _node_children(node))
            open_nodes.remove(id(node))
        if sizes[id(node)] > NODES_MAX:
            raise ManifestError(source, line, f"aliases expand to more than {NODES_MAX} nodes")
        return sizes[id(node)]

    if root is not None:
        size(root)


def _node_children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _key_node(node: yaml.Node | None, step: str | int) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((key for key, _ in node.value if key.value == step), None)


def _child(node: yaml.Node | None, step: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        child: yaml.Node = node.value[step]
        return child
    return None


def _place(event: yaml.Event) -> tuple[int, int]:
    assert event.start_mark is not None  # every event that was read has one
    return event.start_mark.index, event.start_mark.line


def _line(error: yaml.MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    return mark.line if mark is not None else 0
