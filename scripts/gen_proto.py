#!/usr/bin/env python3
"""Generate the protobuf modules of every .proto file under src/netclaim, or check them.

    python scripts/gen_proto.py           writes x_pb2.py and x_pb2.pyi beside each x.proto
    python scripts/gen_proto.py --check   writes nothing; names what is stale and exits 1

Promise: the .proto files are the one source; a module whose .proto is gone is stale, and removed.
Limit: the output depends on the grpcio-tools release, so run it from the locked environment.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"

# protoc writes `Mapping` without its arguments, which mypy's strict mode does not take.
STUB_HEADER = b'# mypy: disable-error-code="type-arg"\n'


def generate(source: Path) -> Mapping[Path, bytes]:
    """Return the modules of all .proto files below `source/netclaim`, by path relative to `source`.

    Imports in them are absolute, because `source` is the only root of ours that protoc is given.
    """
    protos = sorted(str(path) for path in source.glob("netclaim/**/*.proto"))
    with (
        tempfile.TemporaryDirectory() as out,
        as_file(files("grpc_tools") / "_proto") as well_known,  # google/protobuf/*.proto
    ):
        includes = [f"-I{source}", f"-I{well_known}"]
        outputs = [f"--python_out={out}", f"--pyi_out={out}"]
        command = [sys.executable, "-m", "grpc_tools.protoc", *includes, *outputs, *protos]
        subprocess.run(command, check=True)
        return {
            path: STUB_HEADER + content if path.suffix == ".pyi" else content
            for path, content in _modules(Path(out)).items()
        }


def _modules(tree: Path) -> Mapping[Path, bytes]:
    paths = [*tree.glob("netclaim/**/*_pb2.py"), *tree.glob("netclaim/**/*_pb2.pyi")]
    return {path.relative_to(tree): path.read_bytes() for path in paths}


def stale(source: Path) -> Mapping[Path, bytes | None]:
    """Return the generated files that differ, each with its content; None for superfluous ones."""
    wanted = generate(source)
    found = _modules(source)
    return {
        path: wanted.get(path)
        for path in sorted(wanted.keys() | found.keys())
        if wanted.get(path) != found.get(path)
    }


def refresh(source: Path) -> Mapping[Path, bytes | None]:
    """Make the generated files current; returns what was stale."""
    outdated = stale(source)
    for path, content in outdated.items():
        if content is None:
            (source / path).unlink()
        else:
            (source / path).write_bytes(content)
    return outdated


def main(arguments: list[str]) -> int:
    """Run as a command; returns the exit status."""
    parser = argparse.ArgumentParser(description="Generate the protobuf modules under src.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when stale")
    check: bool = parser.parse_args(arguments).check
    outdated = stale(SOURCE) if check else refresh(SOURCE)
    sys.stdout.writelines(f"{'stale' if check else 'refreshed'}: src/{path}\n" for path in outdated)
    return 1 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
