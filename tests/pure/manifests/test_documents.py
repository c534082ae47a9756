"""Reading files of manifests: their texts, their data, their faults."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from netclaim.manifests.text.documents import SIZE_MAX, ManifestError, decode, read_documents
from netclaim.manifests.text.yaml_dialect import KubeLoader, dump

PARTS = st.sampled_from(
    [
        "key{}: 1\n",
        "# note\n",
        "---\n",
        "--- # new\n",
        "...\n",
        "\n",
        "key{}: |\n  ---x\n  # no\n",
        "key{}:\n  inner: 2\n",
        "key{}: 'é'\r\n",
    ]
)
FILES = st.lists(PARTS).map(
    lambda parts: "".join(part.format(number) for number, part in enumerate(parts))
)


def read(text: str) -> list[Any]:
    """Return the data of each document."""
    return [document.data() for document in read_documents(text, "f.yaml")]


@given(FILES)
def test_documents_are_the_file(text: str) -> None:
    """The documents' texts joined are the file, whatever separates them; or it is no YAML."""
    try:
        documents = read_documents(text, "f.yaml")
    except ManifestError:
        return
    assert "".join(document.text for document in documents) == text
    whole = [found for found in yaml.load_all(text, Loader=KubeLoader) if found is not None]
    parts = [document.data() for document in documents]
    assert [found for found in parts if found is not None] == whole


def test_documents_know_their_lines() -> None:
    """Each document knows its first line, and the line of each of its fields."""
    text = "# head\na: 1\n---\n# note\nb:\n- c: 1\n- c: 2\n"
    first, second = read_documents(text, "f.yaml")
    assert (first.first_line, second.first_line) == (1, 3)
    assert first.line_of(("a",)) == 2
    assert second.line_of(("b", 1, "c")) == 7
    assert second.line_of(("b", 9, "nothing")) == 5
    assert second.line_of(()) == 5


# YAML has no keys of more than 1024 characters.
OBJECTS = st.dictionaries(st.text(max_size=20), st.none() | st.text() | st.lists(st.integers()))


@given(st.lists(OBJECTS, min_size=1), st.sampled_from(["", "\n", " \r\n "]))
@example([{"a": "\U0001f680"}, {"b": "\\ud83d\\ude80"}], "")
def test_json_objects_behind_each_other(objects: list[dict[str, Any]], between: str) -> None:
    """Objects of JSON are documents, with or without space between them, on their own lines."""
    texts = [json.dumps(one, indent=1) + between for one in objects]
    documents = read_documents("".join(texts), "f.json")
    assert [document.text for document in documents] == texts
    assert [document.data() for document in documents] == objects
    lines = [1 + "".join(texts[:number]).count("\n") for number in range(len(texts))]
    assert [document.first_line for document in documents] == lines


def test_halves_of_a_character_are_joined_in_json_only() -> None:
    """What JSON takes for one character, YAML in single quotes takes for its letters."""
    assert read(r'{"a": "\ud83d\uDE80"}') == [{"a": "\U0001f680"}]
    assert read(r"{a: '\ud83d\ude80'}") == [{"a": r"\ud83d\ude80"}]


def test_deep_json_is_refused_at_its_line() -> None:
    """An object that is nested too deep is refused wherever it stands in a stream."""
    deep = '{"a": ' * 150 + "1" + "}" * 150
    with pytest.raises(ManifestError, match=r"^f:2: nested deeper than 100 levels$"):
        read_documents(f'{{"b": 1}}\n{deep}\n', "f")


def test_entries_are_the_objects() -> None:
    """A document is its object, the items of a List are theirs, and an empty one has none."""
    text = "---\n# none\n---\nnull\n---\na: 1\n---\nkind: List\nitems: [{b: 2}, {kind: List}, 7]\n"
    documents = read_documents(text, "f")
    assert [document.is_empty for document in documents] == [True, True, False, False]
    assert [list(document.entries()) for document in documents] == [
        [],
        [],
        [((), {"a": 1})],
        [(("items", 0), {"b": 2}), (("items", 2), 7)],
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("---\n# words\njust words\n", "f:3: not a manifest; a manifest is an object"),
        ("kind: List\nitems:\n  a: 1\n", "f:2: items: is not a list"),
    ],
)
def test_documents_without_objects(text: str, complaint: str) -> None:
    """What is no object, and a List of none, are refused at their lines."""
    (document,) = read_documents(text, "f")
    with pytest.raises(ManifestError) as caught:
        list(document.entries())
    assert str(caught.value).startswith(complaint)


def test_plain_text_as_kubernetes_reads_it() -> None:
    """Dates and sexagesimals stay text; exponents, octals and yes are what they are to kubectl."""
    text = "[2026-01-02, 1:30, 1e3, 0x1F, 017, yes, off, ~, .5, 1.0.0, -7, y]"
    values = ["2026-01-02", "1:30", 1000.0, 31, 15, True, False, None, 0.5, "1.0.0", -7, "y"]
    assert read(text) == [values]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
@example({"next\x85line": "\u2028", "cr": "a\rb", "block": " lead\n\ntrail \n"})
def test_what_is_written_is_read(value: Any) -> None:
    """Whatever is written, text that looks like something else included, is read back the same."""
    assert yaml.load(dump(value), Loader=KubeLoader) == value


@pytest.mark.parametrize(
    "text", ["1e3", "y", "N", "yes", "017", "2026-01-02", "1:30", "~", "", "-"]
)
def test_ambiguous_text_is_quoted(text: str) -> None:
    """Text that any YAML reader could take for something else is written in quotes."""
    assert dump({"a": text}) in (f"a: '{text}'\n", f'a: "{text}"\n')


def test_long_and_many_lines_stay_readable() -> None:
    """A long line is not folded, and several lines are a block."""
    long = "x " * 200 + "x"
    assert dump({"a": long, "b": "1\n2\n"}) == f"a: {long}\nb: |\n  1\n  2\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: [1, }", "f.yaml:1: not YAML: "),
        ("a: 1\nb: }\n", "f.yaml:2: not YAML: "),
        ("a: 1\n---\nb: *nobody\n", "f.yaml:3: not YAML: found undefined alias"),
        ("a: 1\n\tb: 2\n", "f.yaml:2: not YAML: "),
        ("a: 1\nb: \x00\n", "f.yaml:2: not YAML: found a control character"),
        ("a: {{ .Values.x }}-y\n", "f.yaml:1: not YAML: "),
        ("a: &x\n  b: *x\n", "f.yaml:1: an anchor contains an alias to itself"),
        ("a: &x [*x]\n", "f.yaml:1: an anchor contains an alias to itself"),
        ("[" * 200 + "]" * 200, "f.yaml:1: nested deeper than 100 levels"),
    ],
)
def test_what_is_no_yaml(text: str, complaint: str) -> None:
    """A file that is no YAML is refused with file, line and reason, in one line."""
    with pytest.raises(ManifestError) as caught:
        read_documents(text, "f.yaml")
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["{{- if .x }}\na: 1\n{{- end }}\n", "a: {{ .Values.x }}\n"])
def test_a_helm_template_gets_a_hint(text: str) -> None:
    """A template that is no YAML, or none that means anything, is told to be rendered first."""
    with pytest.raises(ManifestError, match=r"is it a Helm template\? Render it first"):
        read(text)


def test_aliases_that_explode() -> None:
    """Aliases that unfold to billions of nodes are refused without unfolding them."""
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(ManifestError, match="aliases expand to more than"):
        read_documents("\n".join(lines), "f.yaml")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: duplicate key 'a'"),
        ("a: !secret x\n", "f.yaml:1: could not determine a constructor"),
        ("? [1]\n: 2\n", "f.yaml:1: found unhashable key"),
        ("a: !!int x\n", "f.yaml:1: invalid literal"),
    ],
)
def test_yaml_that_is_no_data(text: str, complaint: str) -> None:
    """A repeated key, an unknown tag or a key that is no text is refused with file and line."""
    (document,) = read_documents(text, "f.yaml")
    with pytest.raises(ManifestError) as caught:
        document.data()
    assert str(caught.value).startswith(complaint)


def test_content_that_is_no_text() -> None:
    """Binary content is refused at the line of its first bad byte, and a huge file by its size."""
    with pytest.raises(ManifestError, match=r"^f:2: not UTF-8 text; is it a binary file\?$"):
        decode(b"a\n\xff\xfe", "f")
    with pytest.raises(ManifestError, match=r"^f:1: larger than 4 MiB; split it$"):
        decode(b"x" * (SIZE_MAX + 1), "f")


def test_a_document_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data are built from the nodes that say where everything is; each call builds them anew."""
    (document,) = read_documents("a: [1, {b: text}]\n", "f.yaml")
    monkeypatch.setattr(yaml, "compose", None)
    monkeypatch.setattr(yaml, "load", None)
    first, second = document.data(), document.data()
    assert first == second == {"a": [1, {"b": "text"}]}
    assert first["a"] is not second["a"]


def test_merging_leaves_the_nodes_alone() -> None:
    """What `<<` merges is in the data, and not where the text does not have it."""
    (document,) = read_documents("a: &a\n  x: 1\nb:\n  <<: *a\n  y: 2\n", "f.yaml")
    assert document.data()["b"] == {"x": 1, "y": 2}
    assert document.node_at(("b", "x")) is None
    assert document.line_of(("b", "y")) == 5
