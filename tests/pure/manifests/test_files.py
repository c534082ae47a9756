"""Files, directories and standard input: what `-f` stands for, as kubectl has it."""

import io
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from netclaim.errors import NetclaimError, RequestError
from netclaim.manifests.text.documents import SIZE_MAX
from netclaim.manifests.text.files import read_files


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory `d` of manifests and other things, seen from beside it."""
    for name in ("d/b.yaml", "d/a.yml", "d/c/z.json", "d/c.json", "d/README.md", "d/c/deep/x.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"a: {name}\n" if not name.endswith("md") else "[")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*named: str, recursive: bool = False) -> list[str]:
    """Return the files that names stand for."""
    return [file.name for file in read_files(named, recursive=recursive)]


def refusal(*named: str, recursive: bool = False) -> str:
    """Return what is said of names that cannot be read."""
    with pytest.raises(RequestError) as caught:
        read_files(named, recursive=recursive)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_directory_is_its_manifests(tree: Path) -> None:
    """Files that end as manifests do are read by name; directories only if that is asked for."""
    assert names("d") == ["d/a.yml", "d/b.yaml", "d/c.json"]
    deep = ["d/a.yml", "d/b.yaml", "d/c/deep/x.yaml", "d/c/z.json", "d/c.json"]
    assert names("d", recursive=True) == deep
    (tree / "d" / "b.yaml").rename("other.txt")
    assert names("other.txt", "d") == ["other.txt", "d/a.yml", "d/c.json"]


def test_places_below_what_was_named(tree: Path) -> None:
    """A file knows its place below the directory that was named; alone, it is its own name."""
    (deep,) = (one for one in read_files(["d"], recursive=True) if one.name.endswith("x.yaml"))
    assert (deep.path, deep.below) == (Path("d/c/deep/x.yaml"), Path("c/deep/x.yaml"))
    (alone,) = read_files(["d/c/z.json"])
    assert (alone.below, alone.text) == (Path("z.json"), "a: d/c/z.json\n")


def test_a_file_is_read_once(tree: Path) -> None:
    """However often and by whatever names a file is given, it is read once."""
    (tree / "link.yaml").symlink_to("d/b.yaml")
    assert names("d/b.yaml", "./d/b.yaml", "d", "link.yaml") == ["d/b.yaml", "d/a.yml", "d/c.json"]


def test_links(tree: Path) -> None:
    """A link to a file is a file; one to a directory is not followed, as it may lead back."""
    (tree / "d" / "c" / "up").symlink_to("..")
    (tree / "d" / "out").symlink_to("../elsewhere")
    (tree / "elsewhere").mkdir()
    (tree / "elsewhere" / "y.yaml").write_text("a: 1\n")
    (tree / "d" / "l.yaml").symlink_to("../d/c/z.json")
    assert names("d")[-1] == "d/l.yaml"
    assert len(names("d", recursive=True)) == 5  # the link is read where it is met second: once
    assert names("d/c/up") == ["d/c/up/a.yml", "d/c/up/b.yaml", "d/c/up/c.json", "d/c/up/l.yaml"]


def test_standard_input(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash is standard input, read once, and called so."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: 1\n")))
    first, second = read_files(["-", "d/b.yaml", "-"])
    assert (first.name, first.path, first.text) == ("stdin", None, "a: 1\n")
    assert second.name == "d/b.yaml"


def test_a_pipe(tree: Path) -> None:
    """What a shell gives for `<(helm template ...)` is a file like others."""
    reading, writing = os.pipe()
    os.write(writing, b"a: 1\n")
    os.close(writing)
    (file,) = read_files([f"/dev/fd/{reading}"])
    os.close(reading)
    assert file.text == "a: 1\n"


def test_a_fifo_without_a_writer(tree: Path) -> None:
    """It is refused at once instead of waiting for ever; with a slow writer it is read whole."""
    os.mkfifo(tree / "fifo.yaml")
    assert refusal("fifo.yaml") == "fifo.yaml: a FIFO that nothing writes to"
    reading = os.open(tree / "fifo.yaml", os.O_RDONLY | os.O_NONBLOCK)
    with (tree / "fifo.yaml").open("wb", buffering=0) as writing, ThreadPoolExecutor() as threads:
        read = threads.submit(read_files, ["fifo.yaml"])
        writing.write(b"a: " + b"1" * 200_000)
        os.close(reading)  # only now: what is written to nobody is an error
        writing.write(b"\n")
        writing.close()
        assert len(read.result()[0].text) == 200_004


def test_what_cannot_be_read(tree: Path) -> None:
    """Each is one line that begins with the name and says what to change."""
    assert refusal() == "name a file or directory with -f, or - for standard input"
    assert refusal("nope.yaml") == "nope.yaml: No such file or directory"
    assert refusal("d/b.yaml/x") == "d/b.yaml/x: Not a directory"
    assert refusal("empty") == "empty: no file in it ends with .yaml, .yml, .json"
    assert refusal("empty", recursive=True) == refusal("empty")
    (tree / "empty" / "more").mkdir()
    assert refusal("empty").endswith(".json; use -R to read its subdirectories")
    assert refusal("").startswith("-f: the name is empty")
    assert refusal("https://example.com/a.yaml").startswith(
        "https://example.com/a.yaml: not a file"
    )
    (tree / "loop").symlink_to("loop")
    assert refusal("loop") == "loop: Too many levels of symbolic links"
    assert refusal("x" * 300).endswith(": File name too long")


@pytest.mark.parametrize("name", ["kustomization.yaml", "kustomization.yml", "Kustomization"])
def test_a_kustomization_has_to_be_built(tree: Path, name: str) -> None:
    """What kustomize builds is not read: one line shows how to build it."""
    (tree / "d" / name).write_text("resources: [b.yaml]\n")
    said = "d: a kustomization must be built first: kubectl kustomize d | netclaim … -f -"
    assert refusal("d") == said
    assert refusal(f"d/{name}") == said
    assert names("d/b.yaml") == ["d/b.yaml"]
    (tree / "d" / name).rename(tree / "d" / "c" / name)
    assert names("d") == ["d/a.yml", "d/b.yaml", "d/c.json"]
    assert refusal("d", recursive=True) == said.replace("d:", "d/c:").replace("ize d ", "ize d/c ")


def test_everything_that_cannot_be_read_is_told(tree: Path) -> None:
    """Names, bytes and YAML that are wrong are told at once, in the order of the names."""
    (tree / "d" / "b.yaml").write_bytes(b"\xff")
    (tree / "d" / "c.json").write_text("{")
    (tree / "large.yaml").write_bytes(b"#" * (SIZE_MAX + 1))
    with pytest.raises(ExceptionGroup) as caught:
        read_files(["nope", "d", "large.yaml"])
    assert all(isinstance(error, NetclaimError) for error in caught.value.exceptions)
    assert [str(error).split(": ")[0] for error in caught.value.exceptions] == [
        "nope",
        "d/b.yaml:1",
        "d/c.json:2",
        "large.yaml:1",
    ]


def test_json_is_read_as_json(tree: Path) -> None:
    """Objects behind each other, tabs, and characters escaped in two halves are what JSON has."""
    objects = [{"a": "\U0001f680", "b": "\\ud83d\\ude80"}, {"c": [1, 2]}]
    (tree / "s.json").write_text("".join(json.dumps(one, indent="\t") for one in objects) + "\n")
    (file,) = read_files(["s.json"])
    assert [document.data() for document in file.documents] == objects
    assert [document.first_line for document in file.documents] == [1, 4]
    assert file.text == (tree / "s.json").read_text()
