"""Finding the embedded cluster that runs on this machine: what is said where it is not clear."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from netclaim.errors import RequestError
from netclaim.kernel.host.syscalls import CLONE_NEWNET, CLONE_NEWUSER
from netclaim.kube.access.credentials import Identity
from netclaim.local import entering
from netclaim.local.entering import enter_cluster


def processes(directory: Path, *numbers: tuple[int, str, bool]) -> Path:
    """A /proc with processes: their numbers here, those that they have, and who has a cluster."""
    (directory / "self" / "ns").mkdir(parents=True)
    (directory / "self" / "ns" / "mnt").symlink_to("mnt:[1]")
    for pid, known_as, has_cluster in numbers:
        place = directory / str(pid)
        (place / "ns").mkdir(parents=True)
        (place / "ns" / "mnt").symlink_to("mnt:[2]")
        (place / "status").write_text(f"Name:\tx\nNSpid:\t{known_as}\nThreads:\t1\n")
        (place / "root" / "run").mkdir(parents=True)
        if has_cluster:
            (place / "root" / "run" / "kubeconfig").write_text("{}")
    return directory


@pytest.mark.parametrize(
    ("numbers", "pid", "said"),
    [
        ((), 0, "no embedded cluster of this user is running; "),
        (((7, "7", True), (8, "8\t2", True), (9, "9\t1", False)), 0, "no embedded cluster "),
        (((7, "7\t1", True),), 8, "process 8 is no embedded cluster; those are 7"),
        (
            ((7, "7\t1", True), (8, "8\t3\t1", True)),
            0,
            "several embedded clusters are running: use --pid with one of 7, 8",
        ),
    ],
)
def test_which_cluster(
    numbers: Sequence[tuple[int, str, bool]],
    pid: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only process 1 of other namespaces with a kubeconfig is one; of several, one is named."""
    monkeypatch.setattr(entering, "PROC", processes(tmp_path, *numbers))
    with pytest.raises(RequestError) as caught:
        enter_cluster(pid)
    assert str(caught.value).startswith(said)


TRAP = {
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "mine"}}],
    "clusters": [
        {"name": "c", "cluster": {"server": "http://192.0.2.1", "proxy-url": "http://192.0.2.2"}}
    ],
    "users": [
        {
            "name": "u",
            "user": {
                "tokenFile": "/etc/shadow",
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "sh",
                    "interactiveMode": "Never",
                },
            },
        }
    ],
}


@pytest.mark.parametrize(
    ("uid", "entered"),
    [
        (os.geteuid(), [CLONE_NEWUSER, CLONE_NEWNET]),
        (os.geteuid() + 1, [CLONE_NEWNET]),  # who rules in its user namespace could take us over
    ],
)
def test_a_trap(
    uid: int, entered: Sequence[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any container can have a file at that place: nothing is run, read or sent for it."""
    proc = processes(tmp_path, (7, "7\t1", True))
    (proc / "7" / "root" / "run" / "kubeconfig").write_text(json.dumps(TRAP))
    with (proc / "7" / "status").open("a") as status:
        status.write(f"Uid:\t{uid}\t0\t0\t0\n")
    for name in ("user", "net"):
        (proc / "self" / "ns" / name).symlink_to("/dev/null")
        (proc / "7" / "ns" / name).symlink_to("/dev/zero")
    monkeypatch.setattr(entering, "PROC", proc)
    seen: list[int] = []
    monkeypatch.setattr(entering, "setns", lambda _descriptor, kind: seen.append(kind))
    cluster = enter_cluster()
    assert (cluster.server, cluster.proxy) == ("http://192.0.2.1", "")
    assert asyncio.run(cluster.credentials.identity()) == Identity()
    assert seen == entered
