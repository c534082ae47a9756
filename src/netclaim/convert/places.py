r"""The line of a field that is inside a text, such as JSON in a manifest's string. No I/O.

Promise: the line of the field itself where the text's layout shows it; otherwise the line of the
string. Limit: a text with escapes (`"{\"type\": …"`) is on the line where it begins.
"""

from dataclasses import dataclass

from netclaim.manifests.objects import Object
from netclaim.manifests.text.inner_text import inner_document
from netclaim.paths import Path, show


@dataclass(frozen=True, slots=True)
class TextField:
    """A string of an object that contains JSON."""

    one: Object
    path: Path

    def line_of(self, inner: Path = ()) -> int:
        """Return the file's line of a field inside the text; 0 if the object is in no file."""
        document = self.one.document
        if document is None:
            return 0
        inside = inner_document(document, (*self.one.at, *self.path)) if inner else None
        return inside.line_of(inner) if inside is not None else self.one.line_of(self.path)

    def show(self, inner: Path = ()) -> str:
        """Return the path of a field inside the text, for people."""
        return show((*self.one.at, *self.path, *inner))
