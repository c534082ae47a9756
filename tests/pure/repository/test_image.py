"""The image's declaration: what the Dockerfile, the lab's builder and the locks agree on."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from lab import CHECKOUT
from lab.errors import UsageError
from lab.images.dockerfile import DOCKERFILE, instructions, read_settings
from lab.images.driver_image import DriverImage
from lab.images.oci import Image, Tree, pack, write_images

LAYERS = ("system", "packages", "netclaim")  # of scripts/image_tree.py, from the bottom up
PINNED = re.compile(r"^([a-z0-9][a-z0-9.-]*)==(\S+)", re.MULTILINE)


@pytest.fixture(name="script")
def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "image_tree", CHECKOUT / "scripts" / "image_tree.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_kind(kind: str) -> list[str]:
    """What the Dockerfile's instructions of one kind say, in order."""
    return [value for name, value in instructions(DOCKERFILE.read_text()) if name == kind]


def pins(lock: str) -> dict[str, str]:
    """Each package of a lock, and its version."""
    return dict(PINNED.findall((CHECKOUT / lock).read_text()))


def test_how_the_image_runs() -> None:
    """The program is found on the path, by an ordinary user, in an image that has its version."""
    settings = read_settings("1.2.3")
    (program,) = settings.entrypoint
    assert str(Path(program).parent) in settings.environment["PATH"].split(":")
    assert settings.user == "65532:65532"
    assert settings.labels["org.opencontainers.image.version"] == "1.2.3"
    assert settings.labels["org.opencontainers.image.description"].startswith("Network interfaces")


def test_the_dockerfile_lays_out_every_layer() -> None:
    """The first stage makes each layer, and the last one has them all, from the bottom up."""
    made = [found for run in of_kind("RUN") for found in re.findall(r"image_tree\.py (\w+)", run)]
    taken = [found for copy in of_kind("COPY") for found in re.findall(r"/image/(\w+) /$", copy)]
    assert tuple(made) == tuple(taken) == LAYERS


def test_the_context_of_the_dockerfile() -> None:
    """What the first stage builds from is not ignored, and nothing else is sent."""
    ignored = (CHECKOUT / ".dockerignore").read_text().splitlines()
    sent = {line[1:] for line in ignored if line.startswith("!")}
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())
    project, wheel = settings["project"], settings["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {project["readme"], *project["license-files"], "pyproject.toml", "Makefile"}
    needed |= {path.split("/")[0] for path in wheel["force-include"]}
    needed |= {"src", "native", "scripts", "requirements-runtime.lock", ".gitignore"}
    assert sent == needed
    assert all((CHECKOUT / name).exists() for name in sent)


def test_an_instruction_that_the_lab_cannot_follow(tmp_path: Path) -> None:
    """A setting that only one of the two images would have is refused."""
    file = tmp_path / "Dockerfile"
    file.write_text(DOCKERFILE.read_text() + "VOLUME /data\n")
    with pytest.raises(UsageError, match="Dockerfile: the lab cannot follow VOLUME /data"):
        read_settings("1", file)


def test_the_locks_agree() -> None:
    """The lock of the image has what pyproject.toml asks for, in the versions that are tested."""
    every, runtime = pins("requirements.lock"), pins("requirements-runtime.lock")
    assert runtime.items() <= every.items()
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["otel"]]
    asked = {re.split(r"[^A-Za-z0-9._-]", line)[0] for line in lines}
    assert asked <= runtime.keys()
    assert "pytest" not in runtime


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-runtime.lock"])
def test_a_lock_names_no_place(lock: str) -> None:
    """Users install the packages from the index of their own choice."""
    assert "://" not in (CHECKOUT / lock).read_text()


def test_the_archives_of_a_debian_machine(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The packages come from where the machine's own do, for the release of the image."""
    files = (
        "/a/dists/bookworm/InRelease", "/a/dists/bookworm-updates/InRelease",
        "/s/dists/bookworm-security/InRelease", "/other/dists/cloud-bookworm/InRelease",
        "/a/dists/bookworm/main/binary-amd64/Packages.xz",
    )  # fmt: skip
    asked = "".join(f"'file:{path}' some_name 0 \n" for path in files)
    release = {"ID": "debian", "VERSION_CODENAME": "bookworm"}
    monkeypatch.delenv("DEBIAN_ARCHIVE", raising=False)
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: release)
    monkeypatch.setattr(script, "_run", lambda *_: asked)
    said = [stanza.split("\n")[1:3] for stanza in script._sources()]
    assert said == [
        ["URIs: file:/a", "Suites: trixie"],
        ["URIs: file:/a", "Suites: trixie-updates"],
        ["URIs: file:/s", "Suites: trixie-security"],
    ]


def test_the_archive_on_another_machine(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is not Debian's, the archive has to be named; the security fixes are beside it."""
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": "ubuntu"})
    monkeypatch.delenv("DEBIAN_ARCHIVE", raising=False)
    with pytest.raises(SystemExit, match="set DEBIAN_ARCHIVE to the address"):
        script._sources()
    monkeypatch.setenv("DEBIAN_ARCHIVE", "file:/mirror/debian/")
    said = [stanza.split("\n")[1:3] for stanza in script._sources()]
    assert said == [
        ["URIs: file:/mirror/debian", "Suites: trixie"],
        ["URIs: file:/mirror/debian", "Suites: trixie-updates"],
        ["URIs: file:/mirror/debian-security", "Suites: trixie-security"],
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["packages", "new", "--system", "."], "packages needs --lock"),
        (["system", "."], ". exists already"),
        (["kernel", "new"], "invalid choice: 'kernel'"),
    ],
)
def test_wrong_arguments(
    script: ModuleType,
    arguments: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What is wrong is said before anything is fetched or written."""
    monkeypatch.setattr("sys.argv", ["image_tree.py", *arguments])
    with pytest.raises(SystemExit, match="2"):
        script.main()
    assert said in capsys.readouterr().err


def test_sizes(tmp_path: Path) -> None:
    """An image's sizes are those of its layers, before and after they are compressed."""
    small, large = Tree(), Tree()
    small.add_file("/a", "a" * 10)
    large.add_file("/b", "b" * 1_000_000)
    layers = [pack(small), pack(large, 9)]
    write_images([Image("example.com/x:1", layers)], tmp_path / "x.tar")
    image = DriverImage.read(tmp_path / "x.tar")
    assert image.unpacked == len(small.tar()) + len(large.tar())
    assert image.packed == sum(len(layer.packed) for layer in layers)
