"""The committed protobuf modules are what the .proto files say."""

import shutil
from pathlib import Path

from scripts import gen_proto


def test_committed_modules_are_current() -> None:
    """Every generated module in the tree is what its .proto generates today."""
    assert list(gen_proto.stale(gen_proto.SOURCE)) == []


def test_stale_modules_are_found_and_refreshed(tmp_path: Path) -> None:
    """A changed .proto, a missing module and an orphan are each found; a refresh mends all."""
    package = tmp_path / "netclaim" / "kubelet" / "proto"
    package.mkdir(parents=True)
    for name in ("registration.proto", "dra_v1.proto"):
        shutil.copy(gen_proto.SOURCE / "netclaim" / "kubelet" / "proto" / name, package)
    gen_proto.refresh(tmp_path)
    assert list(gen_proto.stale(tmp_path)) == []

    proto = package / "registration.proto"
    proto.write_text(proto.read_text().replace("string error = 2", "string error = 3"))
    (package / "dra_v1_pb2.pyi").unlink()
    (package / "gone_pb2.py").touch()
    found = gen_proto.stale(tmp_path)
    assert [path.name for path in found] == [
        "dra_v1_pb2.pyi",
        "gone_pb2.py",
        "registration_pb2.py",
    ]
    assert gen_proto.refresh(tmp_path) == found
    assert list(gen_proto.stale(tmp_path)) == []
    assert not (package / "gone_pb2.py").exists()
