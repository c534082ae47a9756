"""What the kubelet tests share: a kubelet directory, claim services that behave or do not."""

import asyncio
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from netclaim.kubelet import (
    DRA_APIS,
    HEALTH_APIS,
    ClaimService,
    DraApi,
    HealthApi,
    HealthBoard,
    PluginSockets,
    RegisteredDriver,
    Registration,
    RegistrationVerdict,
    register,
    serve_plugin,
)
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer, PreparedDevice

DRIVER = "cni.dra.networking.x-k8s.io"
RED = ClaimRef(uid="uid-red", namespace="default", name="red")
BLUE = ClaimRef(uid="uid-blue", namespace="default", name="blue")


@contextmanager
def kubelet_directory() -> Iterator[Path]:
    """Kubelet's root directory as kubelet leaves it, by a path short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="nc") as root:
        for name in ("plugins", "plugins_registry"):
            (Path(root) / name).mkdir()
        yield Path(root)


def files_below(root: Path) -> list[Path]:
    """Everything below a directory that is not a directory, so: the sockets."""
    return [path for path in root.rglob("*") if not path.is_dir()]


def leave_behind(path: Path) -> None:
    """What a killed process leaves: a bound path that nobody listens on."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))


def device_for(ref: ClaimRef) -> PreparedDevice:
    """The device that `Answering` gives a claim."""
    return PreparedDevice(
        request_names=("net",),
        pool_name="node-1",
        device_name=f"dev-{ref.name}",
        cdi_device_ids=(f"{DRIVER}/claim={ref.uid}",),
        share_id=f"share-{ref.name}",
    )


class Answering:
    """Prepares every claim and releases every claim, and remembers what it was asked."""

    def __init__(self) -> None:
        self.prepared: list[ClaimRef] = []
        self.released: list[ClaimRef] = []

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """One device a claim."""
        self.prepared += refs
        return {ref.uid: PrepareAnswer(devices=(device_for(ref),)) for ref in refs}

    async def unprepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, str | None]:
        """Success for each."""
        self.released += refs
        return dict.fromkeys((ref.uid for ref in refs), None)


class Waiting(Answering):
    """Holds the claim `RED` until it is told to go on; any other is prepared at once."""

    def __init__(self) -> None:
        super().__init__()
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def prepare(self, refs: Sequence[ClaimRef]) -> Mapping[str, PrepareAnswer]:
        """One device a claim, when it may go on."""
        if RED in refs:
            self.started.set()
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        return await super().prepare(refs)


@dataclass(frozen=True, slots=True)
class Serving:
    """A driver that is being served."""

    sockets: PluginSockets
    registration: Registration
    verdicts: list[RegistrationVerdict]

    async def register(
        self,
        known: Sequence[DraApi] = DRA_APIS,
        health_apis: Sequence[HealthApi] = HEALTH_APIS,
    ) -> RegisteredDriver:
        """Have kubelet register it."""
        return await register(self.sockets.registration, known, health_apis)


@asynccontextmanager
async def served(
    claims: ClaimService,
    *,
    root: Path | None = None,
    healths: HealthBoard | None = None,
    grace_s: float = 60.0,  # more than any test waits: only a test that sets it sees it end
    resend_s: float = 60.0,
) -> AsyncIterator[Serving]:
    """Serve a driver in a kubelet directory, by default one of its own."""
    verdicts: list[RegistrationVerdict] = []
    with nullcontext(root) if root else kubelet_directory() as directory:
        sockets = PluginSockets.under(directory, DRIVER)
        async with serve_plugin(
            DRIVER,
            sockets,
            claims,
            healths or HealthBoard(),
            verdicts.append,
            grace_s=grace_s,
            resend_s=resend_s,
        ) as registration:
            yield Serving(sockets, registration, verdicts)
