"""A StatefulSet's pods come and go on several nodes, and anything may be cut off anywhere.

Promise under test: no address is in two plans at a time, a replica has the same one whenever it has
one, and nothing stays leased when its StatefulSet is gone.
"""

import asyncio
from itertools import count
from typing import Any, cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from netclaim.controller.pools.kept import OWNER_AGE_S
from netclaim.controller.pools.sweep import GRACE_S, LeaseSweep
from netclaim.kube import ConflictError, NotFoundError, Resource
from netclaim.kube.errors import Status
from netclaim.model import Prepared
from netclaim.model.claims.claim import JsonObject
from netclaim.network.pools.cluster import LEASES
from netclaim.network.pools.errors import AddressTakenError, PoolFullError
from tests.pure.network.pools.test_kept import KEEP, PODS, add_pod, claim_of, mac
from tests.pure.network.pools.test_lease_model import CUTS, NODES, Cluster, CrashError
from tests.pure.network.pools.test_leases import Node, again, ips
from tests.support.pool_objects import StoredObjects, pool

REPLICAS = ("db-0", "db-1", "db-2")
OTHERS = ("c0", "c1")  # claims of pods that belong to nobody
RANGES = [{"cidr": "10.1.0.0/29", "end": "10.1.0.5"}]


class SetCluster(Cluster):
    """The same, with a StatefulSet, and leases that the controller has kept."""

    def __init__(self, objects: StoredObjects) -> None:
        super().__init__(objects)
        self.stateful_set: JsonObject | None = None

    async def get(self, kind: str | Resource, name: str, namespace: str) -> JsonObject:
        """The controller's own look at a claim, or at the StatefulSet."""
        if isinstance(kind, str):
            return await super().get(kind, name, namespace)
        if self.stateful_set is None:
            raise NotFoundError(Status(404))
        return self.stateful_set

    async def patch(
        self, resource: Resource, name: str, patch: JsonObject, *, field_manager: str
    ) -> None:
        """The controller's word that a lease is kept."""
        assert (resource.kind, field_manager) == (LEASES.kind, "netclaim-controller")
        stored = self.objects.stored.get((resource.plural, name))
        if stored is None:
            raise NotFoundError(Status(404))
        wanted = {
            "metadata": {**stored["metadata"], **patch["metadata"]},
            "spec": {**stored["spec"], **patch["spec"]},
        }
        if await self.objects.replace(resource, wanted) is None:
            raise ConflictError(Status(409))


class Keeping(RuleBasedStateMachine):
    """Pods start, end and are lost with their nodes; the StatefulSet is scaled and made anew."""

    def __init__(self) -> None:
        super().__init__()
        self.objects = StoredObjects()
        self.cluster = SetCluster(self.objects)
        self.numbers = count()
        self.nodes = {name: Node(self.objects, name) for name in NODES}
        self.claims: dict[str, str] = {}  # of each pod that there is
        self.begun: set[str] = set()  # claims, in their nodes' journals
        self.plans: dict[str, Prepared] = {}  # by claim, likewise
        self.had: dict[str, tuple[list[str], str]] = {}  # by replica, of this StatefulSet
        self.now_s = 0.0
        self.sweep = LeaseSweep(
            cast("Any", self.cluster),  # as much of both as collecting needs
            cast("Any", self.cluster),
            monotonic=lambda: self.now_s,
        )
        self.make()

    @precondition(lambda self: len(self.had) > 1)
    @rule(when_scaled=st.sampled_from(["Retain", "Delete"]))
    def make(self, when_scaled: str = "Retain") -> None:
        """A StatefulSet is deleted with its pods, and made anew; what is kept goes by the pool."""
        for name in list(self.claims):
            self._end(name, None)
        self.had.clear()
        uid = f"set-{next(self.numbers)}"
        self.cluster.stateful_set = {"metadata": {"uid": uid}, "spec": {"replicas": 3}}
        keep = {**KEEP["keep"], "whenScaled": when_scaled}
        self.objects.stored["addresspools", "media"] = pool({"ranges": RANGES, "keep": keep})
        self.retains = when_scaled == "Retain"
        for node in self.nodes.values():
            node.now_s += 60  # they see the pool as it is now

    @rule(replicas=st.integers(1, 3))
    def scale(self, replicas: int) -> None:
        """Pods that are too many end; what they had is free if the pool says so."""
        assert self.cluster.stateful_set is not None
        self.cluster.stateful_set["spec"]["replicas"] = replicas
        for name in REPLICAS[replicas:]:
            self._end(name, None)
            if not self.retains:
                self.had.pop(name, None)

    @rule(
        name=st.sampled_from((*REPLICAS, *OTHERS)),
        node=st.sampled_from(NODES),
        cut=CUTS,
    )
    def start(self, name: str, node: str, cut: tuple[str, int] | None) -> None:
        """A pod is made, allocated and prepared; one that there is has its node already."""
        assert self.cluster.stateful_set is not None
        wanted = (*REPLICAS[: self.cluster.stateful_set["spec"]["replicas"]], *OTHERS)
        if name not in self.claims and name in wanted:
            uid = self.claims[name] = f"c{next(self.numbers)}"
            kind = "StatefulSet" if name in REPLICAS else "ReplicaSet"
            owner = self.cluster.stateful_set["metadata"]["uid"]
            add_pod(self.objects, name, f"pod-{uid}", kind=kind, uid=owner)
            self.cluster.allocated[uid] = node
        if name in self.claims:
            self._prepare(name, cut)

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 4), cut=CUTS)
    def try_again(self, number: int, cut: tuple[str, int] | None) -> None:
        """Kubelet asks again for a pod that waits."""
        self._prepare(self._pod(number), cut)

    @precondition(lambda self: self.plans)
    @rule(number=st.integers(0, 4), node=st.sampled_from(NODES), cuts=st.tuples(CUTS, CUTS))
    def come_back(self, number: int, node: str, cuts: tuple[Any, Any]) -> None:
        """A pod is deleted, and there is another one of its name."""
        name = self._pod(number)
        self._end(name, cuts[0])
        self.start(name=name, node=node, cut=cuts[1])

    @precondition(lambda self: self.claims)
    @rule(number=st.integers(0, 4), cut=CUTS)
    def end(self, number: int, cut: tuple[str, int] | None) -> None:
        """A pod ends. The driver may not get round to leaving its address to the next one."""
        self._end(self._pod(number), cut)

    @rule(name=st.sampled_from(NODES))
    def lose(self, name: str) -> None:
        """A node is lost with all that it knew, and its pods are deleted by force."""
        self.nodes[name].restart()
        for pod, uid in list(self.claims.items()):
            if self.cluster.allocated[uid] == name:
                self._forget(pod)

    @rule(seconds=st.sampled_from([1.0, 10.0, GRACE_S + 1]))
    def wait(self, seconds: float) -> None:
        """The controller looks, before and after a while."""
        asyncio.run(self.sweep.collect())
        self.now_s += seconds
        for node in self.nodes.values():
            node.now_s += seconds
        asyncio.run(self.sweep.collect())

    @invariant()
    def every_plan_has_leases_of_its_own(self) -> None:
        """Whatever was cut off, and whatever was kept or freed."""
        leased = self.objects.leases()
        used = [(ip.partition("/")[0], uid) for uid, p in self.plans.items() for ip in ips(p)]
        assert len({ip for ip, _ in used}) == len(used)
        assert all(leased.get(ip) == uid for ip, uid in used)
        for (plural, _), each in self.objects.stored.items():
            if plural == LEASES.plural and each["spec"]["claim"]["uid"] in self.plans:
                assert not each["spec"].get("kept")

    def teardown(self) -> None:
        """Addresses are kept as long as the StatefulSet is there, and no longer."""
        for name in list(self.claims):
            self._end(name, None)
        self._settle()
        kept = [f"{address}/29" for address in self.objects.leases()]
        assert all(address in kept for addresses, _ in self.had.values() for address in addresses)
        assert len(kept) <= len(REPLICAS)
        self.cluster.stateful_set = None
        self._settle()
        assert self.objects.leases() == {}

    def _pod(self, number: int) -> str:
        return list(self.claims)[number % len(self.claims)]

    def _prepare(self, name: str, cut: tuple[str, int] | None) -> None:
        """The driver may end at any request, before or after it was served."""
        uid = self.claims[name]
        if uid in self.plans:
            return
        node = self.nodes[self.cluster.allocated[uid]]
        claim = claim_of(node, uid, name)
        claim = again(claim) if uid in self.begun else claim
        self.begun.add(uid)
        self._cut(cut)
        try:
            plan = self.plans[uid] = asyncio.run(node.prepare(claim))
        except CrashError:
            node.restart()
        except (PoolFullError, AddressTakenError):
            pass
        else:
            if name in REPLICAS:
                assert self.had.setdefault(name, (ips(plan), mac(plan))) == (ips(plan), mac(plan))
        self._cut(None)

    def _settle(self) -> None:
        for seconds in (0, GRACE_S + 1, OWNER_AGE_S + 1):
            self.now_s += seconds
            asyncio.run(self.sweep.collect())

    def _end(self, name: str, cut: tuple[str, int] | None) -> None:
        uid = self.claims.get(name)
        if uid is None:
            return
        node, prepared = self.nodes[self.cluster.allocated[uid]], self.plans.pop(uid, None)
        if uid in self.begun:
            self._cut(cut)
            left = prepared or Prepared(node.claim(uid).ref)
            asyncio.run(node.leases.give_back(left))
            self._cut(None)
        self._forget(name)

    def _forget(self, name: str) -> None:
        uid = self.claims.pop(name)
        self.plans.pop(uid, None)
        self.begun.discard(uid)
        del self.cluster.allocated[uid]
        del self.objects.stored[PODS, name]

    def _cut(self, cut: tuple[str, int] | None) -> None:
        """Have the process end at a request, or at none."""
        self.objects.before = self.objects.after = lambda _: None
        if cut is None:
            return
        left = cut[1]

        def end(_: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise CrashError("killed")

        setattr(self.objects, cut[0], end)


TestKeeping = Keeping.TestCase
TestKeeping.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
