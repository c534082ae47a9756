"""netclaim-attach run as a runtime runs it, and drivers of several sorts for it to talk to."""

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from netclaim.chained import PlanFiles, program_path

__all__ = ["CLAIM", "NAMESPACE", "POD_UID", "RESULT", "SANDBOX", "Ran", "Site", "checkpoint"]

POD_UID = "139cdb46-f989-4f17-9561-ca10cfb509a6"
CLAIM = "067798be-454e-4be4-9047-1aa06aea63f7"
NAMESPACE = "shop"
SANDBOX = "0123abcd"
# With a spelling that no JSON writer would choose: it has to come out as it went in.
RESULT = '{"cniVersion":"1.0.0",  "ips":[{"address":"10.0.0.2\\u002f24"}], "x":1.50e1}'
EVER_S = 30  # what a test waits for comes in milliseconds


class Ran:
    """How the program ended."""

    def __init__(self, done: "subprocess.CompletedProcess[bytes]") -> None:
        self.status = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()

    @property
    def passed(self) -> bool:
        """Whether it succeeded and passed the result on, byte for byte."""
        return (self.status, self.out) == (0, RESULT + "\n")

    @property
    def error(self) -> dict[str, Any]:
        """The CNI error that it failed with."""
        assert self.status != 0
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document


class Site:
    """A node's directories, and the program."""

    def __init__(self, root: Path) -> None:
        self.socket = root / "attach.sock"
        self.state = root / "dra_manager_state"
        self.plans = PlanFiles(root / "plans")

    def config(self, **changes: object) -> str:
        """What the runtime writes to the program."""
        document: dict[str, object] = {
            "cniVersion": "1.0.0",
            "name": "primary",
            "type": "netclaim-attach",
            "driver": "nic.example",
            "socket": str(self.socket),
            "plans": str(self.plans.root),
            "kubeletState": str(self.state),
            **changes,
        }
        return json.dumps({key: value for key, value in document.items() if value is not None})

    def with_result(self, **changes: object) -> str:
        """The same with the result of the plugins before it."""
        return f'{self.config(**changes)[:-1]}, "prevResult": {RESULT} }}'

    def run(self, command: str | None, stdin: str | bytes | None = None, **environment: str) -> Ran:
        """Execute it as a plugin."""
        arguments = f"IgnoreUnknown=1;K8S_POD_NAMESPACE={NAMESPACE};K8S_POD_UID={POD_UID}"
        variables = {
            "CNI_COMMAND": command or "",
            "CNI_CONTAINERID": SANDBOX,
            "CNI_NETNS": "/run/netns/pod",
            "CNI_IFNAME": "eth0",
            "CNI_ARGS": arguments,
            **environment,
        }
        if command is None:
            del variables["CNI_COMMAND"]
        text = self.with_result() if stdin is None else stdin
        return self._execute([], text if isinstance(text, bytes) else text.encode(), variables)

    def wait(self, *, timeout: str = "100", sandbox: str = SANDBOX) -> Ran:
        """Execute it as a container's hook."""
        options = ["--socket", self.socket, "--sandbox", sandbox, "--pod-uid", POD_UID]
        options += ["--attached", self.plans.attached_dir, "--timeout", timeout]
        return self._execute(["wait", *map(str, options)], b"{}", {})

    def wait_by_state(self, state: str, **changes: object) -> Ran:
        """Execute it as the hook of a claim, with a container's state."""
        places = {"socket": self.socket, "attached": self.plans.attached_dir, "timeout": "100"}
        options = [(f"--{name}", str(value)) for name, value in (places | changes).items()]
        words = [word for option in options for word in option]
        return self._execute(["wait", *words], state.encode(), {})

    @staticmethod
    def _execute(words: list[str], stdin: bytes, environment: dict[str, str]) -> Ran:
        command = [str(program_path()), *words]
        return Ran(
            subprocess.run(
                command,
                input=stdin,
                env=environment,
                capture_output=True,
                timeout=EVER_S,
                check=False,
            )
        )

    @contextmanager
    def driver(self, *answers: bytes) -> Iterator[list[bytes]]:
        """A driver that answers one call after another so, and keeps what it was asked."""
        asked: list[bytes] = []
        with _listener(self.socket) as listener:

            def serve() -> None:
                for answer in answers:
                    connection, _ = listener.accept()
                    with connection:
                        asked.append(_request(connection))
                        connection.sendall(answer)

            thread = threading.Thread(target=serve)
            thread.start()
            yield asked
            thread.join(EVER_S)
            assert not thread.is_alive(), "the driver was not asked as often as expected"

    @contextmanager
    def hung_driver(self, *, backlog: int = 8) -> Iterator[None]:
        """A driver that listens and does nothing else, as a stopped process."""
        with _listener(self.socket, backlog):
            yield

    @contextmanager
    def unasked_driver(self) -> Iterator[None]:
        """The same, and nobody may connect to it."""
        with _listener(self.socket) as listener:
            yield
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()


@contextmanager
def _listener(path: Path, backlog: int = 8) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(backlog)
        listener.settimeout(EVER_S)
        try:
            yield listener
        finally:
            path.unlink()


def _request(connection: socket.socket) -> bytes:
    """All of a request, by its own word about its length."""
    data = b""
    while b"\n\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\n\n")
    length = int(head.rpartition(b"length=")[2])
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\n\n" + body


def checkpoint(**pods_of_claims: list[str]) -> str:
    """Kubelet's file, as Kubernetes 1.32 to 1.36 write it."""
    entries = [
        {
            "ClaimUID": claim,
            "ClaimName": "example",
            "Namespace": NAMESPACE,
            "PodUIDs": {pod: {} for pod in pods},
            "DriverState": {"nic.example": {"Devices": [{"DeviceName": POD_UID}]}},
        }
        for claim, pods in pods_of_claims.items()
    ]
    api_version = "checkpoint.dra.kubelet.k8s.io/v1"
    data = {"kind": "DRACheckpoint", "apiVersion": api_version, "ClaimInfoStateList": entries}
    return json.dumps(
        {"Data": json.dumps(data if entries else {**data, "ClaimInfoStateList": None})}
    )
