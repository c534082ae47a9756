"""A manifest may be any text: documents, or ManifestError at a line of the file."""

from typing import Final

import pytest

from netclaim.manifests.text.documents import Document, ManifestError, decode, read_documents
from tests.support.fuzzing import try_all

CLAIM: Final = b"""\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: red, labels: &l {a: "1"}}
spec:
  devices:
    requests: [{name: a, exactly: {deviceClassName: c, count: 0x2}}]
    config:
    - opaque: {driver: d, parameters: {ifName: net1}}
"""
LISTED: Final = (
    b"kind: List\nitems:\n- {kind: Pod, x: [~, 1e3, .inf, no]}\n- {kind: List, items: }\n"
)
SEVERAL: Final = b"# first\n---\na: &a [1, 2]\nb: *a\n---\n---\n<<: {c: |\n  text\n}\n...\n"
JSON: Final = b'{"kind": "Pod", "a": ["\\ud83d\\ude00", -1.5e3, true]}\n{"kind": "Pod"}\n'
# What YAML is made of, its tags, and what a reader of manifests looks for.
WORDS: Final = (
    b"!!int ", b"!!float ", b"!!bool ", b"!!null ", b"!!binary ", b"!!timestamp ", b"!!set ",
    b"!!omap ", b"!!pairs ", b"!!str ", b"!!seq ", b"!!map ", b"!!python/object:os.system ",
    b"!<x> ", b"! ", b"&a ", b"*a", b"<<: ", b"<<: *a\n", b"? ", b": ", b"- ", b"\n", b"\n---\n",
    b"\n...\n", b"%YAML 1.1\n", b"%TAG ! x\n", b"[", b"]", b"{", b"}", b"{{", b'"', b"'", b"|\n",
    b">-\n", b"#", b"\t", b"\r", b"\0", b"\xc2\x85", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\xff",
    b"0b_", b"0x_", b"-", b"+", b".", b"1:30", b"9" * 5000, b"1e999", b"\\ud800", b"\\x", b"=",
    b"kind: List\n", b"items: ", b'""', b"''", b"- [" * 120, b"{a: " * 120, b"? " * 120,
)  # fmt: skip


def read(content: bytes) -> tuple[Document, ...]:
    """Read all that a file says, and look for it in the file."""
    documents = read_documents(decode(content, "f.yaml"), "f.yaml")
    for document in documents:
        document.field("kind")
        for place, _ in document.entries():
            assert document.line_of((*place, "kind")) >= document.first_line
    return documents


def test_manifests() -> None:
    """Any bytes are documents or a fault."""
    try_all(read, (CLAIM, LISTED, SEVERAL, JSON), raises=ManifestError, words=WORDS)


@pytest.mark.parametrize(
    "value", ['!!int ""', '!!int "-"', '!!float ""', "!!bool maybe", "!!timestamp soon", "!!int x"]
)
def test_values_that_do_not_fit_their_tag(value: str) -> None:
    """A value that is not what its tag says is a fault at its own line."""
    with pytest.raises(ManifestError, match=r"^f\.yaml:2: .+"):
        read(f"kind: Pod\na: {value}\n".encode())
