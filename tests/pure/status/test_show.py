"""A status as text, JSON and YAML: what fits a terminal, and what the page promises of fields."""

import fcntl
import io
import json
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TextIO, get_args, get_type_hints

import msgspec
import pytest
import yaml

from netclaim.cli import main
from netclaim.screen import PlainScreen
from netclaim.screen.rich_screen import RichScreen
from netclaim.status.compose import compose
from netclaim.status.node_view import NodeView
from netclaim.status.scope import Scope, View, narrow
from netclaim.status.showing.displays import display_for
from netclaim.status.showing.fit import Column, fit
from netclaim.status.showing.show import Form, Look, as_json, as_yaml, show
from netclaim.status.showing.tables import absolute, ago
from netclaim.status.values import Status
from netclaim.survey.files import read_dump
from tests.support.doc_pages import ROOT, same_names, table
from tests.support.status_objects import DRIVER, claim, link, links, pod

RACK = ROOT / "examples" / "status" / "rack.yaml"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@cache
def rack() -> Status:
    """The example's cluster."""
    found = [one.object for one in read_dump([str(RACK)], "default")]
    return compose(found, frozenset({DRIVER}))


@contextmanager
def terminal(columns: int, lines: int) -> Iterator[tuple[TextIO, int]]:
    """A terminal of a size, and the descriptor of who looks at it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    with os.fdopen(theirs, "w", encoding="utf-8") as stream:
        yield stream, ours
    os.close(ours)


def seen(descriptor: int, end: str) -> str:
    """What a terminal shows, up to a text."""
    found = b""
    while end.encode() not in found:
        found += os.read(descriptor, 65536)
    return found.decode()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("columns", [40, 60, 80, 120, 300])
@pytest.mark.parametrize("view", ["overview", "nodes", "links", "claims", "pods"])
def test_every_width(view: View, columns: int, wide: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """No line is wider than the terminal, and no name is lost where there is room for any."""
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = io.StringIO()
    scope = Scope(view)
    show(narrow(rack(), scope), scope, RichScreen(stream), Look(wide=wide, when=absolute))
    shown = ESCAPES.sub("", stream.getvalue())
    assert max(map(len, shown.splitlines())) <= columns
    names = {
        "overview": ["rack-1", "rack-3"],
        "nodes": ["rack-1", "rack-3"],
        "links": ["eth0", "tainted", "shared"],
        "claims": ["web-net", "Pending", "NotReady"],
        "pods": ["batch", "Waiting", "Ready"],
    }
    for name in names[view] if columns >= 50 else ():  # below that, words are folded too
        assert name in shown


def test_columns_are_left_out_by_rank() -> None:
    """What can be folded is folded first; then the least important column goes, never the first."""
    columns: list[Column[str]] = [
        Column("NAME", lambda one: one),
        Column("LESS", lambda one: "x" * 10, rank=1),
        Column("MORE", lambda one: "y" * 10, rank=2),
        Column("TEXT", lambda one: "a long text", folds_to=6),
        Column("NONE", lambda one: "", optional=True),
        Column("WIDE", lambda one: "w", wide=True, rank=1),
    ]

    def header(width: int | None, *, wide: bool = False) -> tuple[str, ...]:
        return fit(columns, ["name"], width, wide=wide).header

    assert header(None) == ("NAME", "LESS", "MORE", "TEXT")
    assert header(None, wide=True) == ("NAME", "LESS", "MORE", "TEXT", "WIDE")
    assert header(41) == ("NAME", "LESS", "MORE", "TEXT")
    assert header(40) == ("NAME", "MORE", "TEXT")
    assert header(27) == ("NAME", "TEXT")
    assert fit(columns, ["name"], 27).wraps == ("TEXT",)
    assert fit(columns, ["name"], 5).wraps == ()  # all of them


def test_how_long_ago() -> None:
    """A moment is shown as kubectl does; what is no moment, as it is."""
    assert ago("2000-01-01T00:00:00Z").endswith("d")
    assert ago("2999-01-01T00:00:00Z") == "0s"
    assert ago("soon") == "soon"


def test_json_and_yaml_say_the_same() -> None:
    """Both have every field, with the API's spelling of names."""
    status = rack()
    found = json.loads(as_json(status))
    assert found == yaml.safe_load(as_yaml(status)) == json.loads(as_json(status, indent=0))
    shared = next(one for one in found["devices"] if one["state"] == "shared")
    assert shared["usedBy"][0]["shareID"]
    assert shared["capacity"] == [{"name": "bandwidth", "total": "100G", "used": "40G"}]
    assert found["nodes"][0]["ready"] is True


def fields(kind: type, at: str = "") -> Iterator[str]:
    """The fields of a structure, as the page writes them."""
    hints = get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        inner = [one for one in get_args(hints[field.name]) if hasattr(one, "__struct_fields__")]
        many = "[]" if inner or (at == "" and hints[field.name] == tuple[str, ...]) else ""
        path = f"{at}{field.encode_name}{many}"
        if inner:
            yield from fields(inner[0], f"{path}.")
        else:
            yield path


def documented(heading: str) -> list[str]:
    """The fields of a table; `a[].b`, `c` is `a[].b` and `a[].c`."""
    found = []
    for row in table("status.md", heading):
        names = re.findall(r"`([^`]+)`", row["Field"])
        prefix = names[0].rpartition(".")[0]
        found += [names[0], *(f"{prefix}.{name}" if prefix else name for name in names[1:])]
    return found


def test_every_field_is_documented() -> None:
    """The page lists exactly the fields that there are."""
    place = "docs/status.md, JSON and YAML"
    same_names(documented("JSON and YAML"), fields(Status), place=place)
    rows = section_rows()
    there = {one.removesuffix("[]") for one in fields(NodeView)}
    same_names(rows, there, place="docs/status.md, What kubelet believes")


def section_rows() -> list[str]:
    """The fields of the second table of a section, which has its options first."""
    text = (ROOT / "docs" / "status.md").read_text()
    _, _, rest = text.partition("## What kubelet believes")
    rest = rest.partition("\n## ")[0].partition("| Field |")[2]
    found = []
    for line in rest.splitlines():
        names = re.findall(r"`([^`]+)`", line.split("|")[1]) if line.startswith("| `") else []
        prefix = names[0].rpartition(".")[0] if names else ""
        found += [*names[:1], *(f"{prefix}.{name}" if prefix else name for name in names[1:])]
    return found


def test_nothing_to_show() -> None:
    """A cluster without anything says so in one line."""
    stream = io.StringIO()
    scope = Scope("pods", namespace="team")
    show(Status(), scope, PlainScreen(stream), Look())
    assert stream.getvalue() == "no pods in namespace team\n"


BEFORE = (
    links("one", link("eth0"), link("eth1")),
    claim("a", "eth0", pods=("p",)),
    pod("p", "a", on="one", phase="Pending"),
    pod("q", "a", on="one", phase="Succeeded"),
)
AFTER = (
    links("one", link("eth0"), link("eth1")),
    claim("a", "eth0", pods=("p",), ready=True, ips=("10.0.0.2/24",)),
    pod("p", "a", on="one"),
)


def of(*objects: dict[str, Any]) -> Status:
    """The pods of objects."""
    return narrow(compose(objects, frozenset({DRIVER})), Scope("pods"))


def test_a_pipe_gets_what_has_changed() -> None:
    """Everything once, then only rows that differ, problems that came or went, and what is gone."""
    stream = io.StringIO()
    with display_for(stream, Scope("pods"), "text") as display:
        display.show(of(*BEFORE))
        first = stream.tell()
        display.show(of(*BEFORE))
        assert stream.tell() == first
        display.show(of(*AFTER))
    stream.seek(first)
    assert stream.read().splitlines() == [
        "no longer: warning: pod default/p: waits: the driver on one has not reported eth0 yet",
        "NAMESPACE   POD   STATE   NODE   INTERFACES",
        "default     p     Ready   one    net1 10.0.0.2/24",
        "gone: pod default/q",
    ]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_tools_get_documents(form: Form) -> None:
    """With JSON each status is a line, with YAML a document; the same is not repeated."""
    stream = io.StringIO()
    with display_for(stream, Scope("pods"), form) as display:
        for objects in (BEFORE, BEFORE, AFTER):
            display.show(of(*objects))
    text = stream.getvalue()
    lines = text.splitlines()
    documents = list(map(json.loads, lines)) if form == "json" else list(yaml.safe_load_all(text))
    assert [len(one["pods"]) for one in documents] == [2, 1]


def test_a_terminal_is_painted_in_place() -> None:
    """Pictures replace each other on a page of their own; one that is too high is cut and says so.

    At the end the first page is back, with the last picture.
    """
    with terminal(60, 4) as (stream, far):
        with display_for(stream, Scope("pods"), "text") as display:
            assert seen(far, "\x1b[?25l").startswith("\x1b[?1049h")
            display.show(of(*BEFORE))
            first = seen(far, "\x1b[J")
            assert first.startswith("\x1b[H")
            assert "more lines" in first
            assert first.count("\n") == 3
            fcntl.ioctl(stream, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
            display.again()
            assert "more lines" not in seen(far, "\x1b[J")
            display.show(of(*AFTER))
            assert "10.0.0.2/24" in seen(far, "\x1b[J")
        last = seen(far, "10.0.0.2/24")
        assert last.startswith("\x1b[?1049l\x1b[?25h")


def run(*arguments: str) -> int:
    """Run netclaim status in this process and return how it exits."""
    with pytest.raises(SystemExit) as caught:
        main(["status", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Problems are shown and no failure, unless that is asked for; warnings never are."""
    assert run("-f", str(RACK)) == 0
    assert run("-f", str(RACK), "--exit-code") == 1
    assert run("links", "-f", str(RACK), "--exit-code") == 0  # a taint is a warning
    capsys.readouterr()
    assert run("pod/nope", "-f", str(RACK)) == 2
    assert capsys.readouterr().err.startswith('netclaim: no pod "nope"; existing ones: batch, ')


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-o", "xml"), '--output: unknown format "xml"; write one of text, wide, json, yaml'),
        (("-n", "a", "-A"), "--namespace and --all-namespaces cannot be used together"),
        (("-f", str(RACK), "-w"), "files cannot be combined with a cluster or with --watch"),
        (("-f", "nowhere.yaml"), "nowhere.yaml: No such file or directory"),
        (("nods",), 'nods: unknown view "nods"; did you mean "nodes"?'),
        (
            ("--local", "--context", "x"),
            "--local and --pid cannot be used together with --kubeconfig or --context",
        ),
    ],
)
def test_mistakes_are_one_line(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be done is said in a line, and nothing is shown."""
    assert run(*arguments) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"netclaim: {said}\n")


def test_dumps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dump is read from YAML, from JSON of any size, and from a pipe, with the same result."""
    assert run("-f", str(RACK)) == 0
    wanted = capsys.readouterr().out
    items = list(yaml.safe_load_all(RACK.read_text()))
    padding = {"pad": "x" * (5 << 20)}  # more than a manifest may have
    pad = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": padding}}
    dump = {"apiVersion": "v1", "kind": "List", "items": [*items, pad]}
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(dump))
    assert run("-f", str(path)) == 0
    assert capsys.readouterr().out == wanted
    for content in (path.read_bytes(), RACK.read_bytes()):
        pipe = io.TextIOWrapper(io.BytesIO(content))
        monkeypatch.setattr(sys, "stdin", pipe)
        assert run("-f", "-") == 0
        assert capsys.readouterr().out == wanted


def test_a_dump_that_is_too_large(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """YAML of a large cluster takes minutes to read: the user is told what takes seconds."""
    path = tmp_path / "dump.yaml"
    path.write_text("# " + "x" * (4 << 20))
    assert run("-f", str(path)) == 2
    said = f"netclaim: {path}: YAML of more than 4 MiB; save it as JSON, with -o json\n"
    assert capsys.readouterr().err == said


def test_what_a_server_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A list as the API server sends it, whose items do not say their kind, is read too."""
    published = links("one", link("eth0"))
    bare = {key: value for key, value in published.items() if key not in ("apiVersion", "kind")}
    listed = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSliceList", "items": [bare]}
    path = tmp_path / "list.json"
    path.write_text(json.dumps(listed))
    assert run("links", "-f", str(path), "-o", "json") == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["devices"]] == ["eth0"]
    path.write_text('{"apiVersion": "v1", "kind": "Pod", "metadata": {}}')
    assert run("-f", str(path)) == 2
    assert capsys.readouterr().err == f"netclaim: {path}: Pod: metadata.name is missing\n"


def test_a_large_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Thousands of slices, claims and pods are shown row by row, none missing."""
    count = 5000
    items = []
    for number in range(count):
        node = f"node-{number}"
        items += [
            links(node, *(link(f"eth{port}") for port in range(4))),
            claim(f"c{number}", "eth1", pool=node, pods=(f"p{number}",), ready=True),
            pod(f"p{number}", f"c{number}", on=node),
        ]
    path = tmp_path / "large.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert run("links", "-f", str(path)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 4 * count
    assert sum(line.split()[2] == "used" for line in lines) == count


@pytest.mark.parametrize("version", ["v1alpha3", "v1beta2", "v1"])
def test_rules_of_a_saved_cluster(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An admin's taints are shown whichever version the cluster had them in."""
    rule = {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "broken"},
        "spec": {
            "deviceSelector": {"device": "eth0"},
            "taint": {"key": "example.com/broken", "effect": "NoExecute"},
        },
    }
    (tmp_path / "rule.yaml").write_text(yaml.safe_dump(rule))
    with pytest.raises(SystemExit):
        main(["status", "links", "-f", str(RACK), str(tmp_path / "rule.yaml")])
    assert "example.com/broken:NoExecute by DeviceTaintRule broken" in capsys.readouterr().out


def test_many_pods_with_one_problem_are_one_paragraph() -> None:
    """What one cause did to many pods is shown once, with the first of the others by name."""
    waiting = [pod(f"app-{number}", "net", phase="Pending") for number in range(8)]
    alone = pod("db", "db-net", phase="Pending")
    status = compose([*waiting, alone], frozenset({DRIVER}))
    stream = io.StringIO()
    show(status, Scope("pods"), PlainScreen(stream), Look())
    assert stream.getvalue().splitlines()[:5] == [
        "error: pod default/app-0: waits: claim net does not exist",
        "  netclaim explain pod/app-0 -n default",
        "  the same for 7 other pods: "
        + ", ".join(f"default/app-{number}" for number in range(1, 6))
        + " and 2 more",
        "error: pod default/db: waits: claim db-net does not exist",
        "  netclaim explain pod/db -n default",
    ]
    assert len(status.problems) == 9
