"""`netclaim upgrade` as a user runs it: files in, files out, and every way it can refuse."""

import io
import json
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from netclaim.cli import main
from netclaim.manifests.text.documents import SIZE_MAX, read_documents
from tests.support.kube.schema import check_v1

CLASS = dedent(
    """\
    apiVersion: resource.k8s.io/v1alpha3
    kind: DeviceClass
    metadata:
      name: network-interface
    spec:
      selectors:
      - cel:
          expression: device.driver == "poc.dra.networking"
    """
)
# As the first PoC's demo has it, with the comments that people write.
CLAIM = dedent(
    """\
    # One attachment.
    apiVersion: resource.k8s.io/v1alpha3
    kind: ResourceClaim
    metadata:
      name: macvlan-eth0-attachment   # the pod names it
    spec:
      devices:
        requests:
        # the link
        - name: macvlan-eth0
          deviceClassName: network-interface  # any
        config:
        - requests:
          - macvlan-eth0
          opaque:
            driver: poc.dra.networking
            parameters:
              interface: "net1"
              config: '{ "cniVersion": "1.0.0" }'
    """
)
POD = dedent(
    """\
    apiVersion: v1
    kind: Pod
    metadata: {name:   demo-a}     # kept as it is
    spec:
      containers: [ ]
      resourceClaims:
      - name: net
        resourceClaimName: macvlan-eth0-attachment
    """
)
UPGRADED_CLAIM = CLAIM.replace("v1alpha3", "v1").replace(
    "      deviceClassName: network-interface  # any",
    "      exactly:\n        deviceClassName: network-interface  # any",
)
SHAREABLE = dedent(
    """\
    apiVersion: resource.k8s.io/v1
    kind: ResourceSlice
    metadata: {name: s}
    spec:
      driver: d
      nodeName: n
      pool: {name: n, generation: 1, resourceSliceCount: 1}
      devices:
      - name: eth1
        allowMultipleAllocations: true
    """
)


EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "manifests").glob("*.yaml"))


class Run:
    """Runs of the command and what they printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def __call__(self, *arguments: str | Path) -> int:
        """Run `netclaim upgrade` and return its exit code."""
        with pytest.raises(SystemExit) as caught:
            main(["upgrade", *map(str, arguments)])
        self.out, self.err = self._capsys.readouterr()
        return int(caught.value.code or 0)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, ready to run."""
    return Run(capsys)


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """A file of three documents, two of them ours."""
    path = tmp_path / "demo.yaml"
    path.write_text(f"{CLASS}---\n{CLAIM}---\n{POD}")
    return path


def test_to_stdout(run: Run, demo: Path) -> None:
    """Without a place to write to, the result is printed and the file stays as it is."""
    before = demo.read_text()
    assert run("-f", demo) == 0
    assert run.out == f"{CLASS.replace('v1alpha3', 'v1')}---\n{UPGRADED_CLAIM}---\n{POD}"
    assert demo.read_text() == before


def test_the_result_is_v1(run: Run, demo: Path) -> None:
    """What comes out is what an API server of 1.36 accepts, and again is not changed."""
    run("-f", demo)
    first = run.out
    for document in read_documents(first, "out")[:2]:
        check_v1(document.data())
    demo.write_text(first)
    run("-f", demo)
    assert run.out == first
    assert run.err == f"{demo}: 3 kept\n"


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.name for path in EXAMPLES])
def test_the_examples(run: Run, path: Path) -> None:
    """The manifests of the talk and of the PoCs become v1, field by field as 1.36 accepts it."""
    assert run("-f", path) == 0
    ours = [
        document.data()
        for document in read_documents(run.out, path.name)
        if document.field("apiVersion").startswith("resource.k8s.io/")
    ]
    assert ours
    for found in ours:
        check_v1(found)


def test_the_summary(run: Run, demo: Path) -> None:
    """Stderr says for each document with file and line what became of it, and a total."""
    run("-f", demo)
    assert run.err.splitlines() == [
        f"{demo}:1: DeviceClass network-interface, v1alpha3 -> v1",
        f"{demo}:11: ResourceClaim macvlan-eth0-attachment, v1alpha3 -> v1",
        f"{demo}: 2 converted, 1 kept",
    ]


def test_and_back(run: Run, demo: Path) -> None:
    """Down again gives the original text, comments included."""
    original = demo.read_text()
    run("-f", demo)
    demo.write_text(run.out)
    assert run("--to", "v1alpha3", "-f", demo) == 0
    assert run.out == original


def test_in_place(run: Run, demo: Path) -> None:
    """--in-place writes over the file, keeps its mode, follows a link, and prints nothing."""
    demo.chmod(0o640)
    link = demo.with_name("link.yaml")
    link.symlink_to(demo)
    assert run("--in-place", "-f", link) == 0
    assert run.out == ""
    assert UPGRADED_CLAIM in demo.read_text()
    assert demo.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(path.name for path in demo.parent.iterdir()) == ["demo.yaml", "link.yaml"]


def test_into_a_directory(run: Run, demo: Path, tmp_path: Path) -> None:
    """-o writes each result under its file's name into a directory that need not exist."""
    other = tmp_path / "pod.yaml"
    other.write_text(POD)
    assert run("-o", tmp_path / "out" / "v1", "-f", demo, other) == 0
    assert (tmp_path / "out" / "v1" / "pod.yaml").read_text() == POD
    assert UPGRADED_CLAIM in (tmp_path / "out" / "v1" / "demo.yaml").read_text()


def test_several_files_to_stdout(run: Run, tmp_path: Path) -> None:
    """Several files become one stream of documents, each separated from the next."""
    for name, text in (("a.yaml", CLASS.rstrip("\n")), ("b.yaml", f"---\n{POD}"), ("c.yaml", POD)):
        (tmp_path / name).write_text(text)
    run("-f", tmp_path / "a.yaml", "-f", tmp_path / "b.yaml", tmp_path / "c.yaml")
    kinds = [document.field("kind") for document in read_documents(run.out, "out")]
    assert kinds == ["DeviceClass", "Pod", "Pod"]


def test_empty_documents(run: Run, tmp_path: Path) -> None:
    """Documents of nothing but comments stay where they are, and are not counted."""
    path = tmp_path / "helm.yaml"
    text = f"---\n# Source: a.yaml\n{CLASS}---\n# Source: b.yaml\n---\nnull\n---\n{POD}---\n"
    path.write_text(text)
    assert run("-f", path) == 0
    assert run.out == text.replace("v1alpha3", "v1")
    assert run.err.endswith(f"{path}: 1 converted, 1 kept\n")
    path.write_text("---\n# only\n---\n")
    assert run("-f", path) == 0
    assert run.out == path.read_text()
    assert run.err == f"{path}: no documents\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory of manifests, with a directory in it."""
    tree = tmp_path / "tree"
    (tree / "deep").mkdir(parents=True)
    (tree / "b.yaml").write_text(CLASS)
    (tree / "a.yml").write_text(POD)
    (tree / "deep" / "b.yaml").write_text(CLASS)
    (tree / "notes.txt").write_text("no manifest")
    return tree


def test_a_directory_to_stdout(run: Run, tree: Path) -> None:
    """A directory is its manifests, in the order of their names."""
    assert run("-f", tree) == 0
    assert run.out == f"{POD}---\n{CLASS.replace('v1alpha3', 'v1')}"


def test_a_directory_in_place(run: Run, tree: Path) -> None:
    """--in-place writes only over files that change."""
    kept = (tree / "a.yml").stat()
    assert run("-i", "-R", "-f", tree) == 0
    for path in (tree / "b.yaml", tree / "deep" / "b.yaml"):
        assert path.read_text() == CLASS.replace("v1alpha3", "v1")
    assert (tree / "a.yml").stat().st_ino == kept.st_ino  # a file that is replaced is a new one


def test_a_directory_into_another(run: Run, tree: Path, tmp_path: Path) -> None:
    """-o keeps the places of files below the directory, and does not read its own results."""
    out = tmp_path / "out"
    assert run("-R", "-o", out, "-f", tree) == 0
    written = sorted(str(path.relative_to(out)) for path in out.rglob("*.y*ml"))
    assert written == ["a.yml", "b.yaml", "deep/b.yaml"]
    assert run("-R", "-o", tree / "deep", "-f", tree) == 2
    assert run.err == (
        f"netclaim: {tree}/deep/b.yaml is in {tree}/deep, where results are written; choose"
        " another directory for --output\n"
    )


def test_two_results_of_one_name(run: Run, tree: Path, tmp_path: Path) -> None:
    """Files that would be written to one place are refused before anything is."""
    out = tmp_path / "out"
    assert run("-o", out, "-f", tree / "b.yaml", tree / "deep" / "b.yaml") == 2
    same = f"{tree}/b.yaml has the same target, {out}/b.yaml"
    assert run.err == f"netclaim: {tree}/deep/b.yaml: {same}\n"
    assert not out.exists()


def test_objects_behind_each_other(run: Run, tmp_path: Path) -> None:
    """A stream of JSON, as jq prints it, stays one."""
    path = tmp_path / "stream.json"
    pod = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "\U0001f680"}})
    claim = {"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceClass", "metadata": {}}
    path.write_text(f"{pod}\n{json.dumps(claim)}\n{pod}\n")
    assert run("-f", path) == 0
    documents = read_documents(run.out, "out")
    assert [one.field("apiVersion") for one in documents] == ["v1", "resource.k8s.io/v1", "v1"]
    assert documents[0].text == documents[2].text == f"{pod}\n"
    assert f"{path}:2: DeviceClass, v1beta2 -> v1" in run.err
    (tmp_path / "pod.yaml").write_text(POD)
    assert run("-f", path, tmp_path / "pod.yaml") == 0
    assert len(read_documents(run.out, "out")) == 4  # beside YAML they need separators


def test_from_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-f -` reads standard input, and messages call it stdin."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CLAIM.encode())))
    assert run("-f", "-") == 0
    assert run.out == UPGRADED_CLAIM
    assert run.err.startswith("stdin:2: ResourceClaim")


def test_a_loss_is_refused(run: Run, tmp_path: Path) -> None:
    """A field that the older version does not have is named with its line; nothing is written."""
    path = tmp_path / "slice.yaml"
    path.write_text(SHAREABLE)
    assert run("--to", "v1alpha3", "--in-place", "-f", path) == 2
    assert path.read_text() == SHAREABLE
    loss = f"{path}:10: spec.devices[0].allowMultipleAllocations: v1alpha3 does not have this field"
    assert f"{loss} (lost)\n" in run.err
    assert run.err.endswith(
        "netclaim: nothing written: 1 item would be lost; use --lossy to accept that\n"
    )


def test_a_loss_is_accepted(run: Run, tmp_path: Path) -> None:
    """With --lossy the field goes, and is named all the same."""
    path = tmp_path / "slice.yaml"
    path.write_text(SHAREABLE)
    assert run("--to", "v1alpha3", "--lossy", "-f", path) == 0
    assert run.out.endswith("  - name: eth1\n    basic: {}\n")
    assert "(lost)" in run.err


def test_the_blogs_classes(run: Run, tmp_path: Path) -> None:
    """The blog's toaster becomes a DeviceClass; that its driver's name cannot be is said."""
    path = tmp_path / "toaster.yaml"
    path.write_text(
        "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceClass\nmetadata:\n"
        "  name: toaster-bun-slot # buns\ndriverName: burntek.io/bun-toaster\n"
    )
    assert run("-f", path) == 0
    assert run.out == (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n"
        "  name: toaster-bun-slot # buns\nspec:\n  selectors:\n  - cel:\n"
        '      expression: device.driver == "burntek.io/bun-toaster"\n'
    )
    assert f"{path}:5: driverName: 'burntek.io/bun-toaster' cannot be the name" in run.err


def test_a_dead_kind_is_left_out(run: Run, tmp_path: Path) -> None:
    """A PodSchedulingContext goes with a word; the documents around it stay whole."""
    path = tmp_path / "old.yaml"
    dead = "apiVersion: resource.k8s.io/v1alpha2\nkind: PodSchedulingContext\nmetadata: {name: x}\n"
    path.write_text(f"{POD}---\n{dead}---\n{POD}")
    assert run("-f", path) == 0
    assert run.out == f"{POD}---\n{POD}"
    assert f"{path}:11: kind: left out, removed in 1.32" in run.err
    assert run.err.endswith(f"{path}: 2 kept, 1 left out\n")


def test_a_list(run: Run, tmp_path: Path) -> None:
    """A List, as kubectl prints it, is converted item by item."""
    path = tmp_path / "list.yaml"
    indented = CLASS.replace("\n", "\n  ").rstrip()
    path.write_text(f"apiVersion: v1\nitems:\n- {indented}\nkind: List\n")
    assert run("-f", path) == 0
    assert run.out == path.read_text().replace("v1alpha3", "v1")
    assert run.err.startswith(f"{path}:1: List of 1 -> v1\n")


BAD: list[tuple[bytes, str]] = [
    (b"a: [1, }\n", ":1: not YAML: "),
    (b"just words\n", ":1: not a manifest; "),
    (b"- a\n- b\n", ":1: not a manifest; "),
    (b"a: 1\n\xff\xfe\x00", ":2: not UTF-8 text; is it a binary file?"),
    (b"x: &x [*x]\n", ":1: an anchor contains an alias to itself"),
    (b"#" * (SIZE_MAX + 1), ":1: larger than 4 MiB; split it"),
    (
        b"kind: ResourceKlaim\napiVersion: resource.k8s.io/v1beta1\n",
        ":1: kind: resource.k8s.io has no kind 'ResourceKlaim'",
    ),
    (
        b"kind: DeviceClass\napiVersion: resource.k8s.io/v3\n",
        ":2: apiVersion: resource.k8s.io has no version 'v3'",
    ),
    (
        b"kind: ResourceClaim\napiVersion: resource.k8s.io/v1beta1\nspec:\n  devices: 7\n",
        ":4: spec.devices: is a number, not an object",
    ),
    (
        b"kind: ResourceClass\napiVersion: resource.k8s.io/v1alpha2\n",
        ":1: driverName: a ResourceClass needs the name of a driver",
    ),
    (
        b"kind: DeviceClass\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\n",
        ":3: duplicate key 'kind'",
    ),
]


@pytest.mark.parametrize(("content", "complaint"), BAD, ids=[text for _, text in BAD])
def test_bad_input(run: Run, demo: Path, content: bytes, complaint: str) -> None:
    """Input that cannot be is one line with file and line, exit code 2; the file stays as it is."""
    bad = demo.with_name("bad.yaml")
    bad.write_bytes(content)
    assert run("--in-place", "-f", bad) == 2
    assert run.err.startswith(f"netclaim: {bad}{complaint}")
    assert run.err.count("\n") == 1
    assert bad.read_bytes() == content


@pytest.mark.parametrize(
    "content", [b"kind: [", b"apiVersion: resource.k8s.io/v7\nkind: DeviceClass\n"]
)
def test_a_broken_file_does_not_stop_the_others(run: Run, demo: Path, content: bytes) -> None:
    """What can be converted is, whether the broken file comes before or after it."""
    for name in ("a.yaml", "z.yaml"):
        demo.with_name(name).write_text(CLASS)
    bad = demo.with_name("m.yaml")
    bad.write_bytes(content)
    demo.unlink()
    assert run("--in-place", "-f", demo.parent) == 2
    assert run.err.splitlines()[-1].startswith(f"netclaim: {bad}:")
    assert bad.read_bytes() == content
    for name in ("a.yaml", "z.yaml"):
        assert demo.with_name(name).read_text().startswith("apiVersion: resource.k8s.io/v1\n")


def test_the_claims_of_a_pod(run: Run, demo: Path) -> None:
    """A workload's claims are named as since 1.31, and nothing else of it changes."""
    demo.write_text(
        "apiVersion: apps/v1\n"
        "kind: Deployment\n"
        "metadata: {name: app}\n"
        "spec:\n"
        "  template:\n"
        "    spec:\n"
        "      resourceClaims:  # as in 1.30\n"
        "      - name: nic\n"
        "        source:\n"
        "          resourceClaimTemplateName: media\n"
        "      - name: own\n"
        "        resourceClaimName: mine\n"
    )
    assert run("-f", demo) == 0
    assert run.out.splitlines()[6:] == [
        "      resourceClaims:  # as in 1.30",
        "      - name: nic",
        "        resourceClaimTemplateName: media",
        "      - name: own",
        "        resourceClaimName: mine",
    ]
    assert run.err.splitlines() == [
        f"{demo}:1: Deployment app, claims as since 1.31",
        (
            f"{demo}:9: spec.template.spec.resourceClaims[0].source: removed in 1.31;"
            " its content is now next to the name"
        ),
        f"{demo}: 1 converted",
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "name a file or directory with -f"),
        (["-f", "/no/such/file"], "/no/such/file: No such file or directory"),
        (["-f", "x", "--to", "v7"], '--to: unknown version "v7"; resource.k8s.io has v1, v1beta2'),
        (["-f", "x", "-i", "-o", "d"], "--in-place and --output cannot be used together"),
        (["-f", "-", "-i"], "standard input has no file to write to"),
    ],
)
def test_arguments_that_do_not_fit(run: Run, arguments: Any, complaint: str) -> None:
    """Arguments that make no sense are one line and exit code 2."""
    assert run(*arguments) == 2
    assert run.err.startswith(f"netclaim: {complaint}")
    assert run.err.count("\n") == 1


def test_an_output_that_is_a_file(run: Run, demo: Path) -> None:
    """A file where a directory should be is one line and exit code 2; nothing is left behind."""
    assert run("-o", demo / "out", "-f", demo) == 2
    assert "Not a directory" in run.err.splitlines()[-1]
    assert [path.name for path in demo.parent.iterdir()] == ["demo.yaml"]


def test_a_target_that_cannot_be_replaced(run: Run, demo: Path, tmp_path: Path) -> None:
    """A directory in a result's place is one line and exit code 2; no temporary file stays."""
    (tmp_path / "out" / "demo.yaml").mkdir(parents=True)
    assert run("-o", tmp_path / "out", "-f", demo) == 2
    assert "Is a directory" in run.err.splitlines()[-1]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["demo.yaml"]


def test_fields_that_nobody_knows_are_named(run: Run, tmp_path: Path) -> None:
    """A field of an old kind that has no place any more is lost with its line; a name is moved."""
    file = tmp_path / "old.yaml"
    head = "apiVersion: resource.k8s.io/v1alpha1\nkind: ResourceClass\n"
    file.write_text(f"{head}name: toaster\ndriverName: d.example\nslots: 4\n")
    assert run("-f", file) == 2
    assert f"{file}:3: name: moved to metadata.name\n" in run.err
    assert f"{file}:5: slots: this version has no such field, and nothing replaces it" in run.err
    assert "nothing written: 1 item would be lost; use --lossy to accept that" in run.err
    assert run("-f", file, "--lossy") == 0
    assert "metadata:\n  name: toaster\n" in run.out
