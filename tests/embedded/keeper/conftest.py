"""Builds of the keeper with sanitizers, which every test here runs."""

import subprocess
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[3] / "native/keeper"


def build(program: Path, *sources: Path) -> Path:
    """Compile a program that ends at its first fault."""
    sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    options = ["-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *options, *sanitize, "-o", program, *sources], check=True)
    return program


@pytest.fixture(scope="session")
def keeper_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The keeper."""
    return build(tmp_path_factory.mktemp("keeper") / "netclaim-keeper", *NATIVE.glob("*.c"))


@pytest.fixture(scope="session")
def fuzz_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What plays scripts of frames."""
    sources = [
        NATIVE / name for name in ("fuzz/fuzz.c", "relay.c", "answers.c", "frames.c", "queue.c")
    ]
    return build(tmp_path_factory.mktemp("keeper") / "fuzz", *sources)
