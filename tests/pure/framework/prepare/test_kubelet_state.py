"""Kubelet's own file says which pods use a claim, also while the API server is away."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from netclaim.framework.prepare.kubelet_checkpoint import KubeletState
from tests.support.framework.node import RED, node_in
from tests.support.framework.parts import UNREACHABLE, pod_of

ENTRY = {
    "ClaimUID": "uid-red",
    "ClaimName": "red",
    "Namespace": "default",
    "PodUIDs": {"pod-1": {}, "pod-2": {}},
    "DriverState": {"net.example.com": {"Devices": None}},
}


def written(path: Path, data: Any) -> Path:
    """The file as kubelet writes it: JSON within JSON."""
    text = msgspec.json.encode(data).decode()
    path.write_bytes(msgspec.json.encode({"Data": text, "Checksum": 1}))
    return path


def test_pods_of_a_claim(tmp_path: Path) -> None:
    """Those that are listed under it; of a claim that is not in use, none."""
    state = KubeletState(written(tmp_path / "state", {"ClaimInfoStateList": [ENTRY]}))
    users = state.users()
    assert users is not None
    assert users["uid-red"] == ("pod-1", "pod-2")
    assert "uid-blue" not in users


def test_claims_of_a_driver(tmp_path: Path) -> None:
    """Those with a state of the driver; none before kubelet wrote the file."""
    path = tmp_path / "state"
    assert KubeletState(path).claims_of("net.example.com") == ()
    written(path, {"ClaimInfoStateList": [ENTRY, {"ClaimUID": "uid-blue"}]})
    assert KubeletState(path).claims_of("net.example.com") == [RED.ref]
    assert KubeletState(path).claims_of("gpu.example.com") == []


@pytest.mark.parametrize("content", [b"", b"{}", b'{"Data": "["}', b'{"Data": "{}"', b"\xff"])
def test_file_that_cannot_be_read(tmp_path: Path, content: bytes) -> None:
    """Then nothing is known; nor without a file."""
    path = tmp_path / "state"
    assert KubeletState(path).users() is None
    path.write_bytes(content)
    assert KubeletState(path).users() is None
    assert KubeletState(path).claims_of("net.example.com") is None


async def test_plain_pod_beside_a_shared_claim_while_the_api_server_is_away(
    tmp_path: Path,
) -> None:
    """It starts if kubelet does not list it; it is refused if it is listed, or nothing is known."""
    async with node_in(tmp_path) as node:
        stage = node.stage
        await stage.prepare(RED)
        stage.pods.faults = [UNREACHABLE] * 3
        with pytest.raises(type(UNREACHABLE)):
            await node.run(pod_of("pod-9", "s9"))
        stage.kubelet.pods = {"uid-red": {"pod-8"}}
        await node.run(pod_of("pod-9", "s9"))
        with pytest.raises(type(UNREACHABLE)):
            await node.run(pod_of("pod-8", "s8"))
        assert stage.driver.calls == []
