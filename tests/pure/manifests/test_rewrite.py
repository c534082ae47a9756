"""Changing a document's text: what must change changes, everything else stays as it was."""

from textwrap import dedent
from typing import Any

import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from netclaim.manifests.text.documents import Document, read_documents
from netclaim.manifests.text.rewrite import rewrite
from netclaim.manifests.text.yaml_dialect import KubeLoader, dump
from netclaim.manifests.versions.conversion import VERSIONS, Version, from_v1
from tests.support.kube.objects import objects

SERVED: tuple[Version, ...] = ("v1", "v1beta2", "v1beta1")


def document(text: str) -> Document:
    """Return the one document of a text."""
    (only,) = read_documents(text, "f.yaml")
    return only


def said(text: str) -> Any:
    """Return what a text says."""
    return yaml.load(text, Loader=KubeLoader)


def commented(text: str) -> str:
    """Put a numbered comment above each line, as deep as the line.

    Not above an empty `basic`: it vanishes, and there is nothing that could inherit its comment.
    """
    lines = []
    for number, line in enumerate(text.splitlines()):
        depth = len(line) - len(line.lstrip())
        lines += [f"{' ' * depth}# {number}"] * (line.strip() != "basic: {}") + [line]
    return "\n".join(lines) + "\n"


def comments(text: str) -> list[str]:
    """Return the comments of a text."""
    return sorted(line.strip() for line in text.splitlines() if line.lstrip().startswith("#"))


def test_comments_without_a_place_stand_above_the_document() -> None:
    """Comments within flow style, and behind a key that vanishes, are kept."""
    claim = document(
        "# top\n---\nspec: # what\n  devices:\n    requests: [ # all\n"
        "      {name: a}, # one\n      {name: 'b#c'}\n    ]\n"
    )
    flow = rewrite(claim, {"spec": {"devices": {"requests": [{"name": "a"}, {"name": "d"}]}}})
    assert flow.startswith("# top\n---\n# all\n# one\nspec: # what\n")
    device = document("devices:\n- name: d\n  basic: # b\n    attributes: {}\n")
    lifted = rewrite(device, {"devices": [{"name": "d", "attributes": {}}]})
    assert lifted == "devices:\n- name: d\n  # b\n  attributes: {}\n"


@given(objects(), st.sampled_from(SERVED), st.sampled_from(SERVED))
def test_comments_survive(made: tuple[str, dict[str, Any]], one: Version, two: Version) -> None:
    """Whatever moves between served versions, the result says it and has every comment."""
    kind, v1 = made
    found = from_v1(v1, kind, one)
    wanted = from_v1(v1, kind, two)
    text = commented(dump(found))
    assume(said(text) == found)  # a comment within a block of text is text
    result = rewrite(document(text), wanted)
    assert said(result) == wanted
    assert comments(result) == comments(text)


@given(objects(newer=False), st.sampled_from(VERSIONS), st.sampled_from(VERSIONS))
def test_any_conversion(made: tuple[str, dict[str, Any]], one: Version, two: Version) -> None:
    """Between any two versions the text says what was wanted, and unchanged it is untouched."""
    kind, v1 = made
    text = dump(from_v1(v1, kind, one))
    wanted = from_v1(v1, kind, two)
    result = rewrite(document(text), wanted)
    assert said(result) == wanted
    assert (result == text) == (one == two)


def test_only_what_changes() -> None:
    """Quotes, spaces, order and comments of what is not changed stay to the letter."""
    text = dedent(
        """\
        # head
        kind:   "Thing"   # why
        spec:
            # about a
            a: 'one'
            b: [1,  2]

            c:    # deep
            -   x: 0x10   # sixteen
                y: >-
                  folded
                  text
            -   x: 2
        # tail
        """
    )
    wanted = said(text)
    wanted["kind"] = "Other"
    wanted["spec"]["c"][1]["x"] = 3
    expected = text.replace('kind:   "Thing"   # why', "kind: Other   # why")
    assert rewrite(document(text), wanted) == expected.replace("x: 2", "x: 3")


def test_flow_within_block() -> None:
    """A changed map in flow style is printed anew, its comment goes to the top; the rest stays."""
    text = "kind: K # k\nlist:\n- {name: a, x: 1}   # gone\n# b\n- {name: b, x: 1}\nflow: {a: 1}\n"
    wanted = {
        "kind": "K",
        "list": [{"name": "a", "exactly": {"x": 1}}, {"name": "b", "x": 1}],
        "flow": {"a": 2},
    }
    assert rewrite(document(text), wanted) == (
        "# gone\nkind: K # k\nlist:\n- name: a\n  exactly:\n    x: 1\n# b\n- {name: b, x: 1}\n"
        "flow:\n  a: 2\n"
    )


def test_json_stays_json() -> None:
    """A document in flow style is printed as JSON, which is YAML too."""
    assert rewrite(document('{"a": 1}\n'), {"a": {"b": "é"}}) == (
        '{\n  "a": {\n    "b": "é"\n  }\n}\n'
    )
    assert rewrite(document("# c\n--- {a: 1}\n"), {"a": 2}) == '# c\n---\n{\n  "a": 2\n}\n'


def test_a_merge_that_changes_is_unfolded() -> None:
    """A changed map that merges another is printed without the merge; the rest keeps its text."""
    text = "base: &b\n  x: 1 # one\nmore:\n  <<: *b\n  z: 2\nsame:\n  <<: *b\n"
    wanted = {"base": {"x": 1}, "more": {"x": 1, "z": 3}, "same": {"x": 1}}
    assert rewrite(document(text), wanted) == (
        "base: &b\n  x: 1 # one\nmore:\n  x: 1\n  z: 3\nsame:\n  <<: *b\n"
    )


def test_line_ends_stay() -> None:
    """A file with the line ends of another system keeps them."""
    assert rewrite(document("a: 1\r\nb: 2\r\n"), {"a": 1, "b": 3}) == "a: 1\r\nb: 3\r\n"


def test_a_block_of_text_moves_whole() -> None:
    """A literal block that moves deeper keeps its lines, also those that look like comments."""
    text = "a: 1\nscript: |\n  # not a comment\n    indented\n\n  last\nz: 1\n"
    found = said(text)
    wanted = {"a": 1, "inside": {"script": found["script"], "z": 1}}
    result = rewrite(document(text), wanted)
    assert said(result) == wanted
    assert (
        "inside:\n  script: |\n    # not a comment\n      indented\n\n    last\n  z: 1\n" in result
    )


def test_an_edit_that_would_lie_is_not_made() -> None:
    """Where text cannot be cut without changing its neighbour, the document is printed whole."""
    text = "# head\nkept: |+\n  x\n\n\n# about z\nz: 1\n"
    wanted = {"kept": "x\n\n\n"}  # its blank lines look like they belong to z
    result = rewrite(document(text), wanted)
    assert said(result) == wanted
    assert result.startswith("# head\n")
