"""CDI files hand containers what a plan's edits say."""

import json
from pathlib import Path

import pytest

from netclaim.errors import HostError
from netclaim.framework.prepare.cdi import CdiDirectory
from netclaim.model import ContainerEdits, DeviceNode, Mount, Plan, Prepared
from netclaim.nri import ContainerHook
from tests.support.framework.parts import NoMetadata, claim_of, device_of

EDITS = ContainerEdits(
    env={"NIC": "eth1"},
    device_nodes=(DeviceNode("/dev/vfio/7"), DeviceNode("/dev/x", host_path="/dev/y")),
    mounts=(Mount("/run/x.sock", "/x.sock", options=("bind",)),),
)


def prepared_of(*edits: ContainerEdits | None) -> Prepared:
    """A claim with a device for each of the edits."""
    devices = [device_of(f"eth{number}", share_id="s1") for number, _ in enumerate(edits)]
    claim = claim_of("red", *devices)
    plans = zip(devices, edits, strict=True)
    return Prepared(claim.ref, tuple(Plan(claim.ref, d, edits=e) for d, e in plans))


def names_in(directory: Path) -> list[str]:
    """The files of a directory."""
    return [file.name for file in directory.iterdir()]


async def test_file(tmp_path: Path) -> None:
    """A claim's file has its devices with edits, under the ids that kubelet is told."""
    directory = CdiDirectory(tmp_path / "cdi", "net.example.com", NoMetadata())
    ids = await directory.write(prepared_of(EDITS, None), "")
    assert ids == {("node-1", "eth0", "s1"): "net.example.com/claim=uid-red-eth0-s1"}
    (file,) = (tmp_path / "cdi").iterdir()
    assert json.loads(file.read_text()) == {
        "cdiVersion": "0.5.0",
        "kind": "net.example.com/claim",
        "devices": [
            {
                "name": "uid-red-eth0-s1",
                "containerEdits": {
                    "env": ["NIC=eth1"],
                    "deviceNodes": [
                        {"path": "/dev/vfio/7", "hostPath": "/dev/vfio/7", "permissions": "rw"},
                        {"path": "/dev/x", "hostPath": "/dev/y", "permissions": "rw"},
                    ],
                    "mounts": [
                        {"hostPath": "/run/x.sock", "containerPath": "/x.sock", "options": ["bind"]}
                    ],
                },
            }
        ],
    }


async def test_hook(tmp_path: Path) -> None:
    """A driver that holds containers has its hook in every device, beside the edits if any."""
    hook = ContainerHook("/opt/wait", ("wait", "--timeout", "35"), 40)
    directory = CdiDirectory(tmp_path, "net.example.com", NoMetadata(), hook)
    ids = await directory.write(prepared_of(EDITS, None), "")
    assert len(ids) == 2
    file = tmp_path / "net.example.com_uid-red.json"
    first, second = json.loads(file.read_text())["devices"]
    assert second["containerEdits"] == {
        "hooks": [
            {
                "hookName": "createRuntime",
                "path": "/opt/wait",
                "args": ["wait", "--timeout", "35"],
                "timeout": 40,
            }
        ]
    }
    assert first["containerEdits"].keys() == {"env", "deviceNodes", "mounts", "hooks"}


async def test_again(tmp_path: Path) -> None:
    """Writing and removing may both be repeated; nothing unfinished is left."""
    directory = CdiDirectory(tmp_path, "net.example.com", NoMetadata())
    first = await directory.write(prepared_of(EDITS), "")
    assert await directory.write(prepared_of(EDITS), "") == first
    assert names_in(tmp_path) == ["net.example.com_uid-red.json"]
    for _ in range(2):
        await directory.remove("uid-red")
        assert names_in(tmp_path) == []


async def test_nothing_to_hand_over(tmp_path: Path) -> None:
    """A claim whose plans edit nothing has no file."""
    directory = CdiDirectory(tmp_path / "cdi", "net.example.com", NoMetadata())
    assert await directory.write(prepared_of(None), "") == {}
    assert not (tmp_path / "cdi").exists()


async def test_directory_that_cannot_be(tmp_path: Path) -> None:
    """A directory that cannot be written to is told by its path."""
    (tmp_path / "file").write_text("")
    directory = CdiDirectory(tmp_path / "file", "net.example.com", NoMetadata())
    with pytest.raises(HostError, match="file"):
        await directory.write(prepared_of(EDITS), "")
    with pytest.raises(HostError, match="file"):
        await directory.remove("uid-red")
