"""What can break, as data: what is done, at which moment of a burst, and how it is mended.

Each fault happens to a burst of pods in one of three stages: as they start, while they run, as
they end. `moments` are shares of the burst's pods: of those that have a sandbox by then, or have
none any more. Rounds take them in turn, since what a fault hits depends on where the pods are.

Left out: a jump of the wall clock, since the kernel has one for the whole machine (time namespaces
offset only the monotonic and boot clocks), and everything else on the machine would jump along.
"""

from dataclasses import dataclass
from typing import Literal

from faults.actions import (
    Action,
    Crash,
    CutCable,
    DeletePods,
    DeleteSlices,
    EmptyDirectory,
    FewFiles,
    FillState,
    FreeState,
    Freeze,
    Kill,
    KillEach,
    LoseJournal,
    Mood,
    Plug,
    ReadOnly,
    Reboot,
    Remove,
    RemoveNamespaces,
    Rights,
    Roll,
    SetLink,
    SmallState,
    Spin,
    Start,
    StateAsBefore,
    Stop,
    Thaw,
    Unplug,
    Writable,
)
from lab.drivers.driver import DEFAULT_DRIVER

__all__ = ["FAULTS", "NONE", "Fault", "Stage"]

Stage = Literal["starting", "running", "ending"]

LEASES = "/var/lib/cni/netclaim"
# A hang ends with the plugin's caller; no longer than a campaign would wait for it.
HANG = "sleep 3600"
SLOW = "sleep 5"
EVERY_SECOND = """
echo x >> /run/mood.count
if [ $(($(wc -l < /run/mood.count) % 2)) = 1 ]; then
  echo '{"cniVersion":"1.0.0","code":100,"msg":"each second time"}'; exit 1
fi
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that happens to a burst."""

    name: str
    what: str
    stage: Stage = "starting"
    moments: tuple[float, ...] = (0.3, 0.1, 0.6, 0.9)
    breaks: tuple[Action, ...] = ()
    lasts_s: float = 0.0
    mends: tuple[Action, ...] = ()
    before: tuple[Action, ...] = ()  # outside the burst: what the fault needs
    after: tuple[Action, ...] = ()
    plugin: str = "macvlan"
    links_may_go: bool = False  # whether a pod may see an interface go: its link is pulled
    names_claims: bool = True  # kubelet never starts a container that names a claim it forgot

    @property
    def deletes_pods(self) -> bool:
        """Whether pods of the burst go by the fault itself."""
        return any(isinstance(action, DeletePods) for action in (*self.breaks, *self.mends))


def _killed(component: str, seconds: float, stage: Stage = "starting") -> Fault:
    how = f"killed, and started after {seconds:g} s" if seconds else "killed and started again"
    suffix = {"starting": "", "running": "-running", "ending": "-ending"}[stage]
    return Fault(
        f"{component}-{f'dead-{seconds:g}s' if seconds else 'restarted'}{suffix}",
        f"{component} is {how}",
        stage=stage,
        breaks=(Kill((component,)),),
        lasts_s=seconds,
        mends=(Start((component,)),),
    )


def _crashed(seconds: float, stage: Stage = "starting") -> Fault:
    how = (
        f"is dead for {seconds:g} s: killed as often as its keeper starts it"
        if seconds
        else ("is killed, and started again by its keeper")
    )
    suffix = {"starting": "", "running": "-running", "ending": "-ending"}[stage]
    return Fault(
        f"driver-{f'dead-{seconds:g}s' if seconds else 'restarted'}{suffix}",
        f"the driver's process {how}",
        stage=stage,
        breaks=(Crash(seconds),),
    )


def _frozen(component: str, seconds: float, stage: Stage = "starting") -> Fault:
    suffix = {"starting": "", "running": "-running", "ending": "-ending"}[stage]
    return Fault(
        f"{component}-frozen-{seconds:g}s{suffix}",
        f"{component} does not answer for {seconds:g} s (SIGSTOP)",
        stage=stage,
        breaks=(Freeze((component,)),),
        lasts_s=seconds,
        mends=(Thaw((component,)),),
    )


NONE = Fault("none", "nothing: what a burst takes by itself")

RUNTIME = (
    _killed("containerd", 0),
    _killed("containerd", 10),
    _killed("containerd", 0, "running"),
    _killed("containerd", 0, "ending"),
    _frozen("containerd", 5),
    Fault(
        "containerd-restarted-twice",
        "containerd is killed and started, and again 2 s later",
        breaks=(Kill(("containerd",)), Start(("containerd",))),
        lasts_s=2,
        mends=(Kill(("containerd",)), Start(("containerd",))),
    ),
    Fault(
        "shims-killed",
        "every third containerd-shim is killed",
        breaks=(KillEach("containerd-shim", 3),),
    ),
    Fault(
        "shims-killed-running",
        "every third containerd-shim is killed under running pods",
        stage="running",
        breaks=(KillEach("containerd-shim", 3),),
        lasts_s=3,
        links_may_go=True,  # with its sandbox
    ),
    Fault(
        "pauses-killed",
        "every third pause process, which holds a pod's namespaces, is killed",
        breaks=(KillEach("pause", 3),),
        links_may_go=True,
    ),
    Fault(
        "pauses-killed-running",
        "every third pause process is killed under running pods",
        stage="running",
        breaks=(KillEach("pause", 3),),
        lasts_s=3,
        links_may_go=True,
    ),
    Fault(
        "nri-socket-gone",
        "the NRI socket is removed and the driver killed; containerd is restarted after 10 s",
        breaks=(Remove("/run/nri/nri.sock"), Kill(("driver",)), Start(("driver",))),
        lasts_s=10,
        mends=(Kill(("containerd",)), Start(("containerd",))),
    ),
    Fault(
        "namespaces-removed",
        "the names of some pods' network namespaces are removed from /run/netns",
        stage="running",
        breaks=(RemoveNamespaces(3),),
    ),
)

KUBELET = (
    _killed("kubelet", 0),
    _killed("kubelet", 15),
    _killed("kubelet", 0, "ending"),
    _frozen("kubelet", 10),
    Fault(
        "kubelet-forgets",
        "kubelet is killed, loses its record of prepared claims, and is started again",
        breaks=(Kill(("kubelet",)), Remove("/var/lib/kubelet/dra_manager_state")),
        mends=(Start(("kubelet",)),),
        names_claims=False,
    ),
    Fault(
        "kubelet-forgets-running",
        "the same under running pods",
        stage="running",
        breaks=(Kill(("kubelet",)), Remove("/var/lib/kubelet/dra_manager_state")),
        mends=(Start(("kubelet",)),),
    ),
    Fault(
        "registration-socket-gone",
        "the driver's registration socket is removed; the driver is restarted after 10 s",
        breaks=(Remove(f"/var/lib/kubelet/plugins_registry/{DEFAULT_DRIVER}*.sock"),),
        lasts_s=10,
        mends=(Stop("driver"), Start(("driver",))),
    ),
    Fault(
        "plugin-socket-gone",
        "the socket on which kubelet calls the driver is removed; it is restarted after 10 s",
        breaks=(Remove(f"/var/lib/kubelet/plugins/{DEFAULT_DRIVER}/*.sock"),),
        lasts_s=10,
        mends=(Stop("driver"), Start(("driver",))),
    ),
)

DRIVER = (
    _crashed(0),
    _crashed(2),
    _crashed(10),
    _crashed(0, "running"),
    _crashed(0, "ending"),
    _crashed(10, "ending"),
    Fault(
        "driver-dead-2s-before",
        "the driver's process is dead for the first 2 s of the burst",
        moments=(0.0,),
        breaks=(Crash(2),),
    ),
    _killed("driver-pod", 0),
    _killed("driver-pod", 40),
    _frozen("driver", 1.5),
    _frozen("driver", 5),
    _frozen("driver", 5, "ending"),
    Fault(
        "driver-stopped",
        "the driver is asked to end (SIGTERM) and started again",
        breaks=(Stop("driver"),),
        mends=(Start(("driver",)),),
    ),
    Fault(
        "driver-stopped-ending",
        "the same as the pods end",
        stage="ending",
        breaks=(Stop("driver"),),
        mends=(Start(("driver",)),),
    ),
    Fault(
        "driver-updated",
        "the driver is replaced as by a rolling update: the next process starts first",
        breaks=(Roll(),),
    ),
    Fault(
        "driver-updated-ending",
        "the same as the pods end",
        stage="ending",
        breaks=(Roll(),),
    ),
    Fault(
        "driver-killed-twice",
        "the driver is killed and started again, and once more 2 s later",
        breaks=(Kill(("driver",)),),
        lasts_s=2,
        mends=(Kill(("driver",)),),
    ),
    Fault(
        "driver-down-forced-deletion",
        "with the driver down for 10 s, half of the running pods are deleted by force",
        stage="running",
        breaks=(Kill(("driver-pod",)), DeletePods(2, force=True)),
        lasts_s=10,
        mends=(Start(("driver-pod",)),),
    ),
    Fault(
        "journal-lost",
        "the driver is killed, its journal removed, and it is started again",
        breaks=(Kill(("driver-pod",)), LoseJournal()),
        mends=(Start(("driver-pod",)),),
    ),
    Fault(
        "journal-lost-running",
        "the same under running pods",
        stage="running",
        breaks=(Kill(("driver-pod",)), LoseJournal()),
        mends=(Start(("driver-pod",)),),
    ),
    Fault(
        "journal-lost-ending",
        "the same as the pods end",
        stage="ending",
        breaks=(Kill(("driver-pod",)), LoseJournal()),
        mends=(Start(("driver-pod",)),),
    ),
    Fault(
        "cni-cache-lost",
        "the results of the plugins are removed under running pods",
        stage="running",
        breaks=(EmptyDirectory(f"/var/lib/netclaim/{DEFAULT_DRIVER}/cni"),),
    ),
    Fault(
        "state-disk-full",
        "the file system of the driver's state is full for 10 s",
        before=(SmallState(4),),
        breaks=(FillState(),),
        lasts_s=10,
        mends=(FreeState(),),
        after=(StateAsBefore(),),
    ),
    Fault(
        "state-disk-full-ending",
        "the same as the pods end",
        stage="ending",
        before=(SmallState(4),),
        breaks=(FillState(),),
        lasts_s=10,
        mends=(FreeState(),),
        after=(StateAsBefore(),),
    ),
    Fault(
        "leases-read-only",
        "the directory of the address leases is read-only for 10 s",
        breaks=(ReadOnly(LEASES),),
        lasts_s=10,
        mends=(Writable(LEASES),),
    ),
    Fault(
        "leases-read-only-ending",
        "the same as the pods end",
        stage="ending",
        breaks=(ReadOnly(LEASES),),
        lasts_s=10,
        mends=(Writable(LEASES),),
    ),
    Fault(
        "driver-out-of-files",
        "the driver can open no further file for 10 s",
        breaks=(FewFiles(limited=True),),
        lasts_s=10,
        mends=(FewFiles(limited=False),),
    ),
    Fault(
        "driver-without-rights",
        "the driver's rights at the API server are taken away for 15 s",
        breaks=(Rights(granted=False),),
        lasts_s=15,
        mends=(Rights(granted=True),),
    ),
)

BOTH = (
    Fault(
        "containerd-and-driver",
        "containerd and the driver are killed at once; containerd is back first",
        breaks=(Kill(("containerd", "driver")),),
        mends=(Start(("containerd", "driver")),),
    ),
    Fault(
        "driver-and-containerd",
        "the driver and containerd are killed at once; the driver is back 3 s later",
        breaks=(Kill(("driver", "containerd")), Start(("containerd",)), Crash(3)),
    ),
    Fault(
        "kubelet-and-driver",
        "kubelet and the driver are killed at once",
        breaks=(Kill(("kubelet", "driver")),),
        mends=(Start(("kubelet", "driver")),),
    ),
    Fault(
        "kubelet-and-driver-dead-3s",
        "kubelet is restarted while the driver's process is dead for 3 s",
        breaks=(Kill(("kubelet",)), Start(("kubelet",)), Crash(3)),
    ),
    Fault(
        "kubelet-and-containerd-ending",
        "kubelet and containerd are killed at once as the pods end",
        stage="ending",
        breaks=(Kill(("kubelet", "containerd")),),
        mends=(Start(("containerd", "kubelet")),),
    ),
    Fault(
        "whole-node-side",
        "kubelet, containerd and the driver are killed at once, as an upgrade of a node does",
        breaks=(Kill(("kubelet", "containerd", "driver-pod")),),
        mends=(Start(("containerd", "kubelet", "driver-pod")),),
    ),
    Fault("rebooted", "the node's power is cut as pods start", breaks=(Reboot(),)),
    Fault(
        "rebooted-running",
        "the node's power is cut under running pods",
        stage="running",
        breaks=(Reboot(),),
        lasts_s=2,
    ),
    Fault(
        "rebooted-ending",
        "the node's power is cut as the pods end",
        stage="ending",
        breaks=(Reboot(),),
    ),
    Fault("starved", "for 15 s other programs use most of the processors", breaks=(Spin(15),)),
)

CLUSTER = (
    _killed("apiserver", 60),
    _killed("apiserver", 15, "ending"),
    _frozen("apiserver", 10),
    _killed("etcd", 10),
    _frozen("etcd", 10),
    _killed("scheduler", 10),
    _killed("controller-manager", 10),
    Fault(
        "uplink-cut",
        "nothing comes through the node's uplink for 20 s",
        breaks=(CutCable("down"),),
        lasts_s=20,
        mends=(CutCable("up"),),
    ),
    Fault(
        "slices-deleted",
        "somebody deletes all ResourceSlices",
        breaks=(DeleteSlices(),),
    ),
    Fault(
        "half-deleted",
        "half of the pods are deleted as they start",
        breaks=(DeletePods(2),),
    ),
    Fault(
        "half-deleted-by-force",
        "half of the pods are deleted by force as they start",
        breaks=(DeletePods(2, force=True),),
    ),
)

LINKS = (
    Fault(
        "unplugged",
        "a link that pods have interfaces on is pulled, and plugged in again after 5 s",
        breaks=(Unplug("eth2"),),
        lasts_s=5,
        mends=(Plug("eth2", "third"),),
        links_may_go=True,
    ),
    Fault(
        "unplugged-running",
        "the same under running pods",
        stage="running",
        breaks=(Unplug("eth2"),),
        lasts_s=5,
        mends=(Plug("eth2", "third"),),
        links_may_go=True,
    ),
    Fault(
        "switched-off",
        "a link that pods have interfaces on is switched off for 5 s",
        stage="running",
        breaks=(SetLink("eth1", "down"),),
        lasts_s=5,
        mends=(SetLink("eth1", "up"),),
    ),
)

PLUGINS = (
    Fault(
        "plugin-hangs",
        "the CNI plugin, a program, hangs for 20 s",
        moments=(0.0,),
        plugin="moody",
        breaks=(Mood(HANG),),
        lasts_s=20,
        mends=(Mood(""),),
    ),
    Fault(
        "plugin-slow",
        "the CNI plugin takes 5 s, longer than the runtime waits, for 20 s",
        moments=(0.0,),
        plugin="moody",
        breaks=(Mood(SLOW),),
        lasts_s=20,
        mends=(Mood(""),),
    ),
    Fault(
        "plugin-fails-each-second-time",
        "the CNI plugin fails each second time",
        moments=(0.0,),
        plugin="moody",
        before=(Mood(EVERY_SECOND),),
        after=(Mood(""), Remove("/run/mood.count")),
    ),
)

FAULTS = {
    fault.name: fault
    for fault in (NONE, *RUNTIME, *KUBELET, *DRIVER, *BOTH, *CLUSTER, *LINKS, *PLUGINS)
}
