"""`netclaim convert` as a user runs it: files in, files out, and every way it can refuse."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from netclaim.cli import main
from netclaim.manifests.text.documents import SIZE_MAX
from tests.pure.convert.converting import definition, pod

MEDIA = definition("media", {"type": "macvlan", "master": "eth1"})
SRIOV = definition("fast", {"type": "sriov"})
POD = pod("app", "media")
# Ten aliases of ten aliases, nine times over.
BILLION = b"a0: &a0 [1]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 10)
)


class Run:
    """Runs of the command and what they printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = ""
        self.err = ""

    def __call__(self, *arguments: str | Path, command: str = "convert") -> int:
        """Run a command and return its exit code."""
        with pytest.raises(SystemExit) as caught:
            main([command, *map(str, arguments)])
        self.out, self.err = self._capsys.readouterr()
        return int(caught.value.code or 0)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """The command, ready to run."""
    return Run(capsys)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory with a network and a pod, each in a file."""
    directory = tmp_path / "manifests"
    directory.mkdir()
    (directory / "network.yaml").write_text(MEDIA)
    (directory / "pod.yaml").write_text(POD)
    return directory


def test_to_stdout(run: Run, files: Path) -> None:
    """Several files are one set; the result is printed, and the files stay as they are."""
    assert run("-f", files) == 0
    assert run.out.count("kind: PodNetwork") == 1
    assert "resourceClaimTemplateName: media" in run.out
    assert run.err == "1 network and 1 workload converted\n"
    assert (files / "pod.yaml").read_text() == POD


def test_the_result_passes_the_check(run: Run, files: Path, tmp_path: Path) -> None:
    """`netclaim check` finds no mistake in what was converted."""
    assert run("-o", tmp_path / "out", "-f", files) == 0
    assert run("-f", tmp_path / "out", command="check") == 0
    assert "0 errors" in run.err


def test_in_place(run: Run, files: Path) -> None:
    """--in-place writes over the files, and prints only what to know."""
    assert run("-i", "-f", files) == 0
    assert run.out == ""
    assert "kind: PodNetwork" in (files / "network.yaml").read_text()
    assert run("-i", "-f", files) == 0
    assert run.err == "0 networks and 0 workloads converted\n"


def test_a_loss_is_refused(run: Run, files: Path) -> None:
    """What cannot be carried over is named with file and line, and nothing is written."""
    (files / "network.yaml").write_text(f"{MEDIA}{SRIOV}")
    before = {path: path.read_text() for path in files.iterdir()}
    assert run("-i", "-f", files) == 2
    assert run.err.splitlines() == [
        (
            f"{files}/network.yaml:14: spec.config.type: sriov gets its device from a device"
            " plugin; a virtual function is a link of its node, so write a PodNetwork of type"
            " hostDevice that selects it (not carried over)"
        ),
        "netclaim: nothing written: 1 item cannot be carried over; use --lossy to convert the rest",
    ]
    assert {path: path.read_text() for path in files.iterdir()} == before


def test_a_loss_is_accepted(run: Run, files: Path) -> None:
    """With --lossy the rest is converted, and what is left stays with Multus."""
    (files / "network.yaml").write_text(f"{MEDIA}{SRIOV}")
    (files / "pod.yaml").write_text(pod("app", "fast,media"))
    assert run("--lossy", "-f", files) == 0
    assert run.out.count("kind: NetworkAttachmentDefinition") == 1
    assert '"name": "fast", "interface": "net1"' in run.out
    assert run.err.count("(not carried over)") == 2


def test_a_part_of_no_range(run: Run, files: Path) -> None:
    """What is taken of no range is refused, also with --lossy, after what there is to say."""
    (files / "network.yaml").write_text(f"{MEDIA}{SRIOV}")
    assert run("--lossy", "--take", "10.10.11.128/25", "-f", files) == 2
    assert run.out == ""
    first, last = run.err.splitlines()
    assert first.endswith("(not carried over)")
    assert last == (
        "netclaim: --take: nothing written: no pool that is made here has addresses of"
        " 10.10.11.128/25; take what is in a range that is converted, from its range_start to its"
        " range_end"
    )


def test_the_namespace_of_objects_that_name_none(run: Run, files: Path) -> None:
    """-n says where the objects will be applied, as for kubectl."""
    assert run("-n", "team-a", "-f", files) == 0
    assert "name: team-a-media\n" in run.out
    assert "kubernetes.io/metadata.name: team-a" in run.out
    assert "namespace: team-a" not in run.out


def test_from_stdin(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-f -` reads standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{MEDIA}{POD}".encode())))
    assert run("-f", "-") == 0
    assert run.err == "1 network and 1 workload converted\n"


def test_from_a_pipe(run: Run) -> None:
    """A pipe with a name is read like a file, as for `<(helm template …)`."""
    reading, writing = os.pipe()
    try:
        with os.fdopen(writing, "w", encoding="utf-8") as stream:
            stream.write(f"{MEDIA}{POD}")
        assert run("-f", f"/dev/fd/{reading}") == 0
    finally:
        os.close(reading)
    assert "kind: PodNetwork" in run.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name a file or directory with -f"),
        (("-f", "nowhere.yaml"), "nowhere.yaml: No such file or directory"),
        (("-f", "x", "-i", "-o", "y"), "--in-place and --output cannot be used together"),
        (("-f", "-", "-i"), "standard input has no file to write to"),
        (("-f", "x", "-A"), "--all-namespaces is for a cluster; add --cluster"),
        (("--cluster", "-f", "x"), "a cluster is converted to stdout; leave out files"),
        (("--cluster", "-o", "x"), "a cluster is converted to stdout; leave out files"),
        (("--cluster", "--kubeconfig", "/nowhere"), "/nowhere"),
    ],
)
def test_options_that_do_not_fit(run: Run, arguments: tuple[str, ...], words: str) -> None:
    """What cannot be done is one line and exit code 2."""
    assert run(*arguments) == 2
    assert words in run.err
    assert len(run.err.splitlines()) == 1
    assert run.out == ""


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"a: \x00",
        b"a: {{ .Values.x }}\n",
        b"just text\n",
        b"[1, 2]\n",
        b"kind: Pod\n",
        b"x" * (SIZE_MAX + 1),
        b"a: &a [*a]\n",
        b"[" * 200,
        BILLION,
    ],
)
def test_hostile_files(run: Run, tmp_path: Path, content: bytes) -> None:
    """What is no manifest is refused in the words of `netclaim check`."""
    path = tmp_path / "m.yaml"
    path.write_bytes(content)
    assert run("-f", path) == 2
    refused = run.err
    run("-f", path, command="check")
    first = refused.splitlines()[0].removeprefix("netclaim: ")
    assert first.replace(": not a", ": error: not a") in (run.out + run.err) or first in run.err


def test_hostile_texts(run: Run, tmp_path: Path) -> None:
    """Thousands of keys that control a terminal are a bounded number of plain lines."""
    keys = {f"k{number}\x1b[2J": number for number in range(20_000)}
    path = tmp_path / "m.yaml"
    path.write_text(definition("media", json.dumps({"type": "macvlan", "master": "eth1", **keys})))
    assert run("-f", path) == 0
    assert len(run.err.splitlines()) == 101
    assert "\x1b" not in run.err
    assert "k1" not in run.out
