"""What the stages of a driver reach outside of them. Values only.

`parts` fills them with the real edges, tests with edges of their own.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from netclaim.framework.attach.followers import AttachReports, ContainerFacts, SandboxMarks
from netclaim.framework.attach.hold_hook import Hold
from netclaim.framework.attach.repair import SandboxRuntime
from netclaim.framework.attach.sandbox import HasNetns
from netclaim.framework.collect.collector import Files
from netclaim.framework.collect.living import SandboxFiles, SandboxList
from netclaim.framework.collect.retire import Retirement
from netclaim.framework.journal.journal import Journal
from netclaim.framework.journal.pod_plans import Claims, Pods, ReleasedLately
from netclaim.framework.prepare.claim_source import Labels
from netclaim.framework.prepare.limits import Limits
from netclaim.framework.prepare.preparer import ContainerFiles, PlanMarks
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.tools.clock import Clock
from netclaim.model.on_node.prepared import ClaimRef


class ClaimFiles(ContainerFiles, Files, Protocol):
    """The files by which containers get what the plans say."""


class Marks(SandboxMarks, PlanMarks, SandboxFiles, Protocol):
    """The marks on the disk that are read while the driver is away."""


class NodeRuntime(SandboxRuntime, SandboxList, Protocol):
    """The container runtime, for what the driver asks of it."""


class KubeletRecord(Protocol):
    """Kubelet's own record of the node's claims; None if it cannot be read."""

    def users(self) -> Mapping[str, Collection[str]] | None: ...
    def claims_of(self, driver: str) -> Collection[ClaimRef] | None: ...


@dataclass(frozen=True, slots=True)
class NodeEdges:
    """What the stages reach on the node: kubelet, the runtime, and files for containers."""

    kubelet: KubeletRecord
    runtime: NodeRuntime
    files: ClaimFiles
    facts: ContainerFacts
    marks: Marks
    hold: Hold
    has_netns: HasNetns
    hooked: Callable[[], Awaitable[None]]  # waits until the runtime would call us for a pod


@dataclass(frozen=True, slots=True)
class ApiEdges:
    """What the stages ask of the API server, and what they have written there."""

    claims: Claims
    pods: Pods
    labels: Labels  # of namespaces
    reports: AttachReports


@dataclass(frozen=True, slots=True)
class Ground:
    """What all stages of one driver are built on: what they share, and what they reach outside."""

    node: NodeEdges
    api: ApiEdges
    journal: Journal
    released: ReleasedLately
    limits: Limits
    retirement: Retirement
    metrics: Metrics
    clock: Clock
    instance: str = ""  # this process, among those of the driver
