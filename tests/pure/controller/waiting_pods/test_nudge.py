"""A pod that waits for its claim is looked at again when the cause may be gone."""

import asyncio

from netclaim.controller.waiting_pods.nudge import ANNOTATION, Nudge
from netclaim.kube import UnreachableError
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import POD, SLICE
from netclaim.tasks import TaskScope
from tests.support.controller_parts import DRIVER, World, controlled


def nudged(world: World, pod: str) -> bool:
    """Whether a pod has the annotation."""
    return ANNOTATION in world.verbs.get(POD, pod, "default")["metadata"].get("annotations", {})


async def test_a_label_of_the_namespace_wakes_its_pods() -> None:
    """But not those that have what they asked for."""
    async with controlled() as world:
        world.claim("waits", "any", pod=world.pod("waits"), ready=False)
        world.claim("works", "any", pod=world.pod("works"), ready=True)
        world.network()
        await world.until(lambda: bool(world.ready()))
        world.label("default", level="privileged")
        await world.until(lambda: nudged(world, "waits"))
        assert not nudged(world, "works")


async def test_a_link_that_is_back_wakes_the_pods_of_its_node() -> None:
    """The slice of the node changes."""
    async with controlled() as world:
        world.node("node-a", "eth0")
        world.claim("waits", "any", pod=world.pod("waits"), ready=False)
        world.network()
        await world.until(lambda: bool(world.ready()))
        live = world.verbs.get(SLICE, "node-a-slice")
        spec = {**live["spec"], "pool": {**live["spec"]["pool"], "generation": 2}}
        world.change(SLICE, "node-a-slice", spec=spec)
        await world.until(lambda: nudged(world, "waits"))


async def test_a_driver_that_is_back_wakes_the_pods_of_its_node() -> None:
    """Once its pod is ready; that of another node's driver wakes nobody."""
    cluster = Waiting({"one": 1})
    nudge = Nudge(cluster, cluster, DRIVER, pause_s=0.01, settle_s=0.01)  # type: ignore[arg-type]
    async with TaskScope() as tasks:
        tasks.start(nudge.run())
        await cluster.until({"one": 1})
        for node in ("node-b", "node-a"):
            before, now = ({"node": node, "ready": ready} for ready in (False, True))
            nudge.changed("Pod", before, now)
            nudge.changed("Pod", now, now)
        await cluster.until({"one": 2})


async def test_a_claim_that_nobody_prepared_is_asked_for_again() -> None:
    """Kubelet may have been refused it; one whose driver has said something is left to others."""
    cluster = Waiting({"one": 1, "two": 1})
    silent, heard = (cluster.store("ResourceClaim")[each, "c0"] for each in ("one", "two"))
    paces = {"pause_s": 0.01, "settle_s": 0.01, "unheard_s": 0.01}
    nudge = Nudge(cluster, cluster, DRIVER, **paces)  # type: ignore[arg-type]
    async with TaskScope() as tasks:
        tasks.start(nudge.run())
        await cluster.until({"one": 1, "two": 1})
        heard["status"]["devices"] = [{"driver": DRIVER, "pool": "node-a", "device": "eth1"}]
        for claim in (heard, silent):
            nudge.changed("ResourceClaim", {**claim, "status": {}}, claim)
            nudge.changed("ResourceClaim", claim, claim)
        await cluster.until({"one": 2, "two": 1})


async def test_a_pod_that_waited_before_the_controller_ran_is_nudged() -> None:
    """What it waited for may have come meanwhile."""

    def earlier(world: World) -> None:
        world.claim("waits", "any", pod=world.pod("waits"), ready=False)

    async with controlled(earlier=earlier) as world:
        await world.until(lambda: nudged(world, "waits"))


async def test_a_change_nudges_a_pod_once() -> None:
    """However many others wait, and whenever they were nudged themselves."""
    cluster = Waiting({"many": 40, "one": 1})
    nudge = Nudge(cluster, cluster, DRIVER, pause_s=0.05, settle_s=0.01)  # type: ignore[arg-type]
    async with TaskScope() as tasks:
        tasks.start(nudge.run())
        await cluster.until({"many": 40, "one": 1})
        for number in range(2, 5):
            nudge.changed("Namespace", *labelled("many", number))
            await cluster.until({"many": 40 * number, "one": 1})
        for number in range(2, 6):  # each at least a pause later than the one before
            nudge.changed("Namespace", *labelled("one", number))
            await cluster.until({"many": 160, "one": number})


async def test_a_nudge_that_did_not_arrive_is_repeated() -> None:
    """A server that cannot be reached ends nothing."""
    cluster = Waiting({"one": 1}, unreachable=2)
    nudge = Nudge(cluster, cluster, DRIVER, pause_s=0.01, settle_s=0.01)  # type: ignore[arg-type]
    async with TaskScope() as tasks:
        tasks.start(nudge.run())
        await cluster.until({"one": 1})
    assert cluster.unreachable == 0


class Waiting:
    """A cluster of pods that wait, which counts in each namespace how often they are patched."""

    def __init__(self, pods: dict[str, int], *, unreachable: int = 0) -> None:
        self.client = self
        self.unreachable = unreachable
        self._counts = dict.fromkeys(pods, 0)
        self._changed = asyncio.Condition()
        self._claims = {
            (namespace, f"c{number}"): waiting_claim(namespace, number)
            for namespace, count in pods.items()
            for number in range(count)
        }

    def store(self, kind: str) -> dict[tuple[str, str], JsonObject]:
        """The claims."""
        assert kind == "ResourceClaim"
        return self._claims

    async def patch(self, _: object, name: str, patch: JsonObject, **options: str) -> None:
        """Count a nudge; each takes a moment, so that they are out of step."""
        await asyncio.sleep(0.002)
        if self.unreachable:
            self.unreachable -= 1
            raise UnreachableError("test")
        async with self._changed:
            self._counts[options["namespace"]] += 1
            self._changed.notify_all()

    async def until(self, counts: dict[str, int]) -> None:
        """Wait for so many nudges; more than that is a failure."""
        async with asyncio.timeout(60), self._changed:
            await self._changed.wait_for(
                lambda: all(self._counts[each] >= count for each, count in counts.items())
            )
        assert self._counts == counts


def waiting_claim(namespace: str, number: int) -> JsonObject:
    """A claim that is allocated, reserved for a pod, and not ready."""
    device = {"request": "nic", "driver": DRIVER, "pool": "node-a", "device": "eth1"}
    pod = {"resource": "pods", "name": f"p{number}", "uid": f"{namespace}-{number}"}
    request = {"name": "nic", "exactly": {"deviceClassName": "any"}}
    return {
        "metadata": {"name": f"c{number}", "namespace": namespace, "uid": f"c-{number}"},
        "spec": {"devices": {"requests": [request]}},
        "status": {"allocation": {"devices": {"results": [device]}}, "reservedFor": [pod]},
    }


def labelled(namespace: str, number: int) -> tuple[JsonObject, JsonObject]:
    """A namespace before and after a change of its labels."""
    before, now = (
        {"metadata": {"name": namespace, "labels": {"n": str(each)}}} for each in (0, number)
    )
    return before, now
