"""Several nodes lease addresses of small pools, and anything may be cut off anywhere.

Two pools have the same addresses, and are edited, deleted and made anew meanwhile.

Promise under test: no address is in two plans at a time, and none stays leased for nobody.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from typing import Any, cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from netclaim.controller.pools.sweep import GRACE_S, LeaseSweep
from netclaim.errors import NetclaimError, RequestError
from netclaim.kube import NotFoundError
from netclaim.kube.errors import Status
from netclaim.model import Prepared
from netclaim.model.claims.claim import JsonObject
from netclaim.network.pools.errors import NamespaceFullError, PoolFullError
from netclaim.network.pools.restore import Restorer
from tests.pure.network.pools.test_leases import DRIVER, Node, again, ips, living
from tests.support.pool_objects import POOL, StoredObjects, pool

NODES = ("n1", "n2", "n3")
LEASES = "addressleases"
POOLS = ("media", "other")  # with the same addresses
LIMITS = {"media": {}, "other": {"perNamespace": 2}}
CLAIMS = tuple(f"c{n}" for n in range(6))
CUTS = st.none() | st.tuples(st.sampled_from(["before", "after"]), st.integers(1, 6))


class CrashError(NetclaimError):
    """The process of a driver ends here."""


class Cluster:
    """What the controller sees: claims, with the node that each is allocated on, and leases."""

    def __init__(self, objects: StoredObjects) -> None:
        self.objects = objects
        self.allocated: dict[str, str] = {}
        self.client = self

    def store(self, kind: str) -> Mapping[tuple[str, str], JsonObject]:
        """The controller's watches."""
        if kind == "ResourceClaim":
            return {("shop", f"claim-{uid}"): self._claim(uid) for uid in self.allocated}
        plural = {"AddressLease": "addressleases", "AddressPool": "addresspools"}[kind]
        return {("", name): each for (p, name), each in self.objects.stored.items() if p == plural}

    async def get(self, kind: str, name: str, namespace: str) -> JsonObject:
        """The controller's own look at a claim."""
        found = self.store(kind).get((namespace, name))
        if found is None:
            raise NotFoundError(Status(404))
        return found

    async def delete(self, resource: Any, name: str, *, uid: str, resource_version: str) -> None:
        """The controller's deletion of a lease."""
        meta = {"name": name, "uid": uid, "resourceVersion": resource_version}
        await self.objects.delete(resource, {"metadata": meta})

    def _claim(self, uid: str) -> JsonObject:
        result = {"request": "net", "driver": DRIVER, "pool": self.allocated[uid], "device": "eth1"}
        return {
            "metadata": {"name": f"claim-{uid}", "namespace": "shop", "uid": uid},
            "spec": {"devices": {"requests": []}},
            "status": {"allocation": {"devices": {"results": [result]}}},
        }


class Leasing(RuleBasedStateMachine):
    """Claims are allocated, prepared, released and deleted; drivers and nodes are lost."""

    def __init__(self) -> None:
        super().__init__()
        self.objects = StoredObjects()
        self.generations = count(1)
        for name in POOLS:
            self.edit(name, "10.1.0.4")
        self.cluster = Cluster(self.objects)
        self.nodes = {name: Node(self.objects, name) for name in NODES}
        self.begun: set[tuple[str, str]] = set()  # in a node's journal
        self.plans: dict[tuple[str, str], Prepared] = {}  # likewise
        self.now_s = 0.0
        self.restorer = Restorer(DRIVER)
        self.sweep = LeaseSweep(
            cast("Any", self.cluster),  # as much of both as collecting needs
            cast("Any", self.cluster),
            monotonic=lambda: self.now_s,
        )

    @rule(name=st.sampled_from(POOLS), end=st.sampled_from(["10.1.0.2", "10.1.0.4"]))
    def edit(self, name: str, end: str) -> None:
        """An admin makes a pool, or moves its end, whatever is leased; a node may see the old one.

        The controller says of each that it is ready: no lease depends on its seeing overlaps.
        """
        generation = next(self.generations)
        status = {**POOL["status"], "observedGeneration": generation}
        self.objects.stored["addresspools", name] = pool(
            {"ranges": [{"cidr": "10.1.0.0/29", "end": end}], **LIMITS[name]},
            metadata={"name": name, "uid": f"pool-{generation}", "generation": generation},
            status=status,
        )

    @rule(name=st.sampled_from(POOLS))
    def delete(self, name: str) -> None:
        """An admin deletes a pool; leases of it live on."""
        self.objects.stored.pop(("addresspools", name), None)

    @rule(
        uid=st.sampled_from(CLAIMS),
        node=st.sampled_from(NODES),
        of=st.sampled_from(POOLS),
        cut=CUTS,
    )
    def prepare(self, uid: str, node: str, of: str, cut: tuple[str, int] | None) -> None:
        """Kubelet asks; the driver may end at any request, before or after it was served.

        A claim that is allocated stays where it is.
        """
        name = self.cluster.allocated.setdefault(uid, node)
        if (name, uid) in self.plans:
            return
        there = self.nodes[name]
        claim = there.claim(uid, ipam={"pool": of})
        claim = again(claim) if (name, uid) in self.begun else claim
        self.begun.add((name, uid))
        self._cut(cut)
        try:
            self.plans[name, uid] = asyncio.run(there.prepare(claim))
        except CrashError:
            there.restart()
        except (PoolFullError, NamespaceFullError, RequestError):  # there is no such pool
            pass
        self._cut(None)

    @rule(uid=st.sampled_from(CLAIMS), cut=CUTS, delete=st.booleans())
    def release(self, uid: str, cut: tuple[str, int] | None, *, delete: bool) -> None:
        """A pod ends. The driver may not get round to giving its address back."""
        name = self.cluster.allocated.get(uid)
        if name is None:
            return
        prepared = self.plans.pop((name, uid), None)
        if (name, uid) in self.begun:
            claim = self.nodes[name].claim(uid)
            self._cut(cut)
            asyncio.run(self.nodes[name].leases.give_back(prepared or Prepared(claim.ref)))
            self._cut(None)
            self.begun.discard((name, uid))
        del self.cluster.allocated[uid]
        if delete:
            self.now_s += GRACE_S / 2

    @rule(name=st.sampled_from(NODES))
    def lose(self, name: str) -> None:
        """A node is lost with all that it knew; its pods are deleted, and so are their claims."""
        for uid in [uid for uid, at in self.cluster.allocated.items() if at == name]:
            del self.cluster.allocated[uid]
        self.plans = {key: plan for key, plan in self.plans.items() if key[0] != name}
        self.begun = {key for key in self.begun if key[0] != name}
        self.nodes[name].restart()

    @rule(name=st.sampled_from(NODES), cut=CUTS, loses=st.booleans())
    def restore(self, name: str, cut: tuple[str, int] | None, *, loses: bool) -> None:
        """A node looks for the leases of its pods; somebody may have deleted one just before."""
        node = self.nodes[name]
        mine = [plan for (at, _), plan in self.plans.items() if at == name]
        if mine and loses:
            del self.objects.stored[LEASES, ips(mine[0])[0].partition("/")[0]]
            cut = None  # or the address may get lost
        self._cut(cut)
        with suppress(CrashError):
            asyncio.run(self.restorer.restore(node.leases, living(*mine)))
        self._cut(None)

    @rule(seconds=st.sampled_from([1.0, 10.0, GRACE_S + 1]))
    def wait(self, seconds: float) -> None:
        """The controller collects, before and after a while."""
        asyncio.run(self.sweep.collect())
        self.now_s += seconds
        for node in self.nodes.values():
            node.now_s += seconds
        asyncio.run(self.sweep.collect())

    @invariant()
    def every_plan_has_leases_of_its_own(self) -> None:
        """Whatever was cut off, and whatever was collected."""
        leased = self.objects.leases()
        used = [(ip.partition("/")[0], uid) for (_, uid), p in self.plans.items() for ip in ips(p)]
        assert len({ip for ip, _ in used}) == len(used)
        assert all(leased.get(ip) == uid for ip, uid in used)

    @invariant()
    def no_namespace_has_more_than_it_may(self) -> None:
        """Counted by its plans, which may be fewer than its leases for a moment."""
        specs = [each["spec"] for (p, _), each in self.objects.stored.items() if p == LEASES]
        theirs = {each["address"] for each in specs if each["pool"] == "other"}
        used = [ip.partition("/")[0] for each in self.plans.values() for ip in ips(each)]
        assert len(theirs.intersection(used)) <= 2

    def teardown(self) -> None:
        """When every claim is gone, no address is leased."""
        self.cluster.allocated.clear()
        asyncio.run(self.sweep.collect())
        self.now_s += GRACE_S + 1
        asyncio.run(self.sweep.collect())
        assert self.objects.leases() == {}

    def _cut(self, cut: tuple[str, int] | None) -> None:
        """Have the process end at a request, or at none."""
        self.objects.before = self.objects.after = lambda _: None
        if cut is None:
            return
        left = cut[1]

        def cut_off(_: str) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise CrashError("killed")

        setattr(self.objects, cut[0], cut_off)


TestLeasing = Leasing.TestCase
TestLeasing.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
