"""Check the promise: no Running pod without its interfaces, and nothing left over.

While the burst's pods run: each has all its interfaces, with exactly the addresses that its claim's
status says; they pass traffic; a claim says Ready=True exactly if its interfaces are there; no
address is held that no pod has. After they ended: nothing of theirs is left. And at no time did a
container run without an interface, by its own account.

Statuses and cleaning up follow their cause after a while, so an audit looks again until all is well
or its limit is over; what a container saw is not looked at again.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from faults.api import AwayError
from faults.looks import (
    Interface,
    container_pid,
    interfaces_of,
    leases,
    pings,
    starts,
    traces,
)
from faults.manifests import BurstPod
from faults.site import Site
from faults.table import Fault

__all__ = ["Auditor"]

RUNNING_S = 25.0  # for statuses to follow; they are written within a second or so of an answer
ENDED_S = 100.0  # kubelet looks once a minute for claims of pods that were deleted by force
RUNTIME_S = 20.0  # what a runtime has not removed by then is noted
LOOK_S = 0.3
PINGS = 4  # at a time


class Auditor:
    """Audits one burst. Made before its first pod."""

    def __init__(self, site: Site, burst: str, pods: Sequence[BurstPod], fault: Fault) -> None:
        self._site = site
        self._burst = burst
        self._pods = {pod.name: pod for pod in pods}
        self._fault = fault
        self._before = traces(site)

    def running(self, limit_s: float = RUNNING_S) -> list[str]:
        """Return what is wrong with the pods that run, after a while."""
        return _look_again(self._look_at_pods, limit_s)

    def ended(self, limit_s: float = ENDED_S) -> tuple[list[str], list[str]]:
        """Return what is left after the pods, after a while: ours, and the runtime's."""
        began = time.monotonic()
        while True:
            ours, runtimes = traces(self._site).beyond(self._before)
            waited_s = time.monotonic() - began
            if waited_s > limit_s or (not ours and (not runtimes or waited_s > RUNTIME_S)):
                return [f"left over: {each}" for each in ours], runtimes
            time.sleep(LOOK_S)

    def starts(self) -> list[str]:
        """Return when the burst's containers were without an interface, by their own account."""
        found = []
        for seen in starts(self._site, self._burst):
            if seen.word == "MISSING":
                found.append(f"{seen.pod}: a container started without {seen.interface}")
            if seen.word == "LOST" and not self._fault.links_may_go:
                found.append(f"{seen.pod}: {seen.interface} went from under a container")
        return found

    def _look_at_pods(self) -> list[str]:
        try:
            pods = self._site.api.items("pods", f"faults-burst={self._burst}")
            claims = {c["metadata"]["name"]: c for c in self._site.api.items("resourceclaims")}
        except AwayError as error:
            return [str(error)]
        found: list[str] = []
        if not self._fault.deletes_pods:
            missing = self._pods.keys() - {pod["metadata"]["name"] for pod in pods}
            found += [f"{name}: the pod is gone" for name in sorted(missing)]
        real: dict[str, dict[str, Interface]] = {}
        pids: dict[str, int] = {}
        for pod in pods:
            name = pod["metadata"]["name"]
            pid = container_pid(self._site, pod)
            if pid is None:
                found.append(f"{name}: its container does not run")
            elif self._pods[name].interfaces:
                pids[name], real[name] = pid, interfaces_of(self._site, pid)
        for pod in pods:
            name = pod["metadata"]["name"]
            if name in real:
                found += self._look_at_pod(pod, real, claims)
        found += self._look_at_addresses(real)
        return found or self._look_at_traffic(pids, real)

    def _look_at_pod(
        self,
        pod: dict[str, Any],
        real: dict[str, dict[str, Interface]],
        claims: dict[str, dict[str, Any]],
    ) -> list[str]:
        name = pod["metadata"]["name"]
        found = []
        statuses = reported(pod, claims)
        shared = "resourceClaimName" in pod["spec"]["resourceClaims"][0]
        for wanted in self._pods[name].interfaces:
            has = real[name].get(wanted)
            status = statuses.get(wanted)
            if has is None or not has.addresses:
                found.append(f"{name}: Running without {wanted}")
            if status is None:
                found.append(f"{name}: the claim's status does not mention {wanted}")
                continue
            ready, addresses, mac = status
            if ready != (has is not None):
                found.append(f"{name}: {wanted} is {'not ' * (has is None)}there, Ready={ready}")
            # Of a claim that several pods share, the status has the interface of one of them.
            own = [r[wanted] for r in real.values() if wanted in r] if shared else [has]
            if ready and not any(
                o is not None and o.addresses == addresses and o.mac == mac for o in own
            ):
                is_ = f"{sorted(has.addresses)} {has.mac}" if has else "nothing"
                found.append(f"{name}: {wanted} has {is_}, status {sorted(addresses)} {mac}")
        return found

    def _look_at_addresses(self, real: dict[str, dict[str, Interface]]) -> list[str]:
        """Check that each pod's lease holds its address, once, and there are no other leases."""
        held = set(leases(self._site))
        used: dict[str, list[str]] = {}
        for pod, interfaces in real.items():
            for interface in self._pods[pod].interfaces:
                for address in getattr(interfaces.get(interface), "addresses", ()):
                    key = f"faults-{interface} {address.partition('/')[0]}"
                    used.setdefault(key, []).append(pod)
        found = [f"{', '.join(pods)} all have {a}" for a, pods in used.items() if len(pods) > 1]
        found += [f"address {a} of {used[a][0]} is not leased" for a in sorted(used.keys() - held)]
        before = self._before.ours["address"]
        unused = held - used.keys() - before
        return found + [f"leaked address {address}" for address in sorted(unused)]

    def _look_at_traffic(
        self, pids: dict[str, int], real: dict[str, dict[str, Interface]]
    ) -> list[str]:
        """Check that each pod reaches the next one on the same network."""
        calls = []
        for interface in ("net1", "net2"):
            ring = [n for n in sorted(real) if interface in self._pods[n].interfaces]
            for name, after in zip(ring, [*ring[1:], *ring[:1]], strict=True):
                address = next(iter(real[after][interface].addresses)).partition("/")[0]
                if after != name:
                    calls.append((name, interface, address, after))
        with ThreadPoolExecutor(PINGS) as pool:
            answered = list(
                pool.map(lambda call: pings(self._site, pids[call[0]], call[1], call[2]), calls)
            )
        return [
            f"{name}: {interface} does not reach {after} at {address}"
            for (name, interface, address, after), ok in zip(calls, answered, strict=True)
            if not ok
        ]


def reported(
    pod: dict[str, Any], claims: dict[str, dict[str, Any]]
) -> dict[str, tuple[bool, frozenset[str], str]]:
    """Return the status of a pod's claims by interface: whether ready, addresses and MAC."""
    names = {
        s["name"]: s.get("resourceClaimName")
        for s in pod["status"].get("resourceClaimStatuses", [])
    }
    found = {}
    for used in pod["spec"].get("resourceClaims", []):
        name = used.get("resourceClaimName") or names.get(used["name"])
        claim = claims.get(name or "", {})
        results = (
            claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
        )
        for device in claim.get("status", {}).get("devices", []):
            ready = any(
                c["type"] == "Ready" and c["status"] == "True" for c in device.get("conditions", [])
            )
            data = device.get("networkData", {})
            key = (device["pool"], device["device"], device.get("shareID"))
            request = next(
                r["request"] for r in results if (r["pool"], r["device"], r.get("shareID")) == key
            )
            addresses = frozenset(ip for ip in data.get("ips", []) if ":" not in ip)
            found[request] = (ready, addresses, data.get("hardwareAddress", ""))
    return found


def _look_again(look: Callable[[], list[str]], limit_s: float) -> list[str]:
    deadline = time.monotonic() + limit_s
    while (found := look()) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    return found
