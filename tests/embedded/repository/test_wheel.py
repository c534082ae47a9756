"""The wheel, as somebody without a checkout has it: in an environment of its own."""

import os
import subprocess
import sys
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from lab import CHECKOUT
from lab.images.driver_image import build_wheel
from netclaim import __version__

LOCK = CHECKOUT / "requirements-runtime.lock"
pytestmark = pytest.mark.timeout(900)  # thirty packages are fetched and installed at first
EXAMPLES = CHECKOUT / "examples"


@pytest.fixture(scope="module", name="wheel")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module", name="program")
def _program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed program, beside nothing but what the lock of the wheel's dependencies has."""
    home = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(home)  # without a pip of its own: ours installs into it, which is faster
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install"]
    pip += ["--quiet", "--no-deps", "--no-compile", "--disable-pip-version-check"]
    subprocess.run([*pip, "--require-hashes", "--requirement", str(LOCK)], check=True)
    subprocess.run([*pip, str(wheel)], check=True)
    return home / "bin" / "netclaim"


def run(program: Path, *arguments: str, folder: Path) -> str:
    """What the program prints, in a directory outside of the checkout."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(program), *arguments],
        cwd=folder, env=clean, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_what_the_wheel_says_of_itself(wheel: Path) -> None:
    """A package index can show the wheel: whom it is for, its licence, and the README."""
    assert wheel.name.startswith(f"netclaim-{__version__}-py3-none-manylinux_")
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        said = HeaderParser().parsestr(archive.read(metadata).decode())
        program = archive.getinfo("netclaim/chained/netclaim-attach")
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Requires-Python"] == ">=3.11"
    assert "Programming Language :: Python :: 3.13" in said.get_all("Classifier", [])
    assert said["Description-Content-Type"] == "text/markdown"
    assert (CHECKOUT / "README.md").read_text() in said.get_payload()
    assert program.external_attr >> 16 & 0o111 == 0o111  # may be executed


def test_commands_from_the_wheel(program: Path, tmp_path: Path) -> None:
    """The version is the checkout's, and manifests are checked, with nothing else installed."""
    assert run(program, "--version", folder=tmp_path) == f"netclaim {__version__}\n"
    for path in (EXAMPLES / "class.yaml", EXAMPLES / "manifests" / "storage.yaml"):
        (tmp_path / path.name).write_text(path.read_text())
    said = run(program, "check", "-f", "class.yaml", "storage.yaml", folder=tmp_path)
    assert said == "0 errors, 0 warnings in 3 objects of 2 files\n"


def test_the_demo_from_the_wheel(program: Path, tmp_path: Path) -> None:
    """The demo needs no file of the checkout."""
    said = run(program, "demo", folder=tmp_path)
    assert "3 packets transmitted, 3 received" in said
    assert "16 pods on 3 nodes, each with an interface of its own" in said
