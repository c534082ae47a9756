"""Questions to the real scheduler: whether claims can be had on a node, and with which devices.

Every question brings its own slices, classes, claims and a pod that is pinned to one of three
nodes. The nodes are only objects: nothing runs on them, and the scheduler needs no more. A
driver's name of its own keeps questions apart, so that all of them can be put at once.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from lab.kubectl import Kubectl, KubectlError
from tests.support.allocator.objects import API, Answer, Case, Names, Object, results

LABEL = "netclaim-allocator-test"
DECIDE_S = 60  # far more than the scheduler needs; a pod that takes longer is a wrong answer
SCHEDULED = '{.status.conditions[?(@.type=="PodScheduled")].status}'
ENOUGH = {"cpu": "1000", "memory": "1Ti", "pods": "10000"}


@dataclass(frozen=True)
class Question:
    """A case, the node that its pod is pinned to, and what our allocator says."""

    id: str
    case: Case
    node: str
    ours: Answer

    @property
    def fits(self) -> bool:
        """Whether we say that it can be had."""
        return isinstance(self.ours, list)

    @property
    def claims(self) -> list[str]:
        """The names of the claims, in the pod's order."""
        return [claim["metadata"]["name"] for claim in self.case.claims]


@dataclass(frozen=True)
class Site:
    """Nodes that are only objects, and questions about them."""

    kubectl: Kubectl
    run: str = field(default_factory=lambda: f"t{secrets.token_hex(3)}")

    def names(self, number: int) -> Names:
        """Return the names of a question's objects."""
        return Names(f"q{number}.{self.run}.example.com", f"{self.run}-", f"q{number}-")

    @contextmanager
    def nodes(self) -> Iterator[None]:
        """Make the nodes; take everything away at the end."""
        nodes = Names(node_prefix=f"{self.run}-").nodes()
        ready = {"allocatable": ENOUGH, "conditions": [{"type": "Ready", "status": "True"}]}
        try:
            self._create(nodes)
            self._apply_status([{**node, "status": ready} for node in nodes])
            yield
        finally:
            self.kubectl("delete", "node", *(node["metadata"]["name"] for node in nodes))

    def ask(
        self, questions: Sequence[Question], shown: Callable[[Object], list[str]] = results
    ) -> dict[str, Answer]:
        """Put the questions to the scheduler; return its answers, each allocation as `shown`.

        A request for all devices fails by any broken pool that the node can see, also by that of
        another question. So these are put apart, and alone if they bring a broken pool themselves.
        """
        few = [one for one in questions if not one.case.wants_all]
        sound = [one for one in questions if one.case.wants_all and not one.case.broken]
        alone = [[one] for one in questions if one.case.wants_all and one.case.broken]
        answers: dict[str, Answer] = {}
        for batch in filter(None, (few, sound, *alone)):
            try:
                self._put(batch)
                answers |= self._answers(batch, shown)
            finally:
                self._take_away()
        return answers

    def _put(self, questions: Sequence[Question]) -> None:
        cases = [question.case for question in questions]
        self._create([self._labelled(one) for case in cases for one in case.rules])
        self._create([self._labelled(one) for case in cases for one in case.slices])
        self._create([self._labelled(one) for case in cases for one in case.classes])
        held = [self._ours(claim) for case in cases for claim in case.held]
        self._create([{**claim, "status": {}} for claim in held])
        self._apply_status([{k: v for k, v in claim.items() if k != "spec"} for claim in held])
        self._create([self._ours(claim) for case in cases for claim in case.claims])
        self._create([self._pod(question) for question in questions])

    def _labelled(self, obj: Object) -> Object:
        return {**obj, "metadata": {**obj["metadata"], "labels": {LABEL: self.run}}}

    def _ours(self, claim: Object) -> Object:
        """Return a claim for our namespace; the server gives it a UID."""
        name = claim["metadata"]["name"]
        return {**claim, "metadata": {"name": name, "namespace": self.kubectl.namespace}}

    def _pod(self, question: Question) -> Object:
        references = [
            {"name": f"c{index}", "resourceClaimName": name}
            for index, name in enumerate(question.claims)
        ]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": question.id},
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": question.node},
                "tolerations": [{"operator": "Exists"}],  # nothing keeps these nodes ready
                "containers": [{"name": "main", "image": "none"}],
                "resourceClaims": references,
            },
        }

    def _answers(
        self, questions: Sequence[Question], shown: Callable[[Object], list[str]]
    ) -> dict[str, Answer]:
        # Pods are tried in the order in which they were made: the last one ends the round.
        self._wait([questions[-1].id], f"jsonpath={SCHEDULED}")
        self._wait([one.id for one in questions if one.fits], "condition=PodScheduled")
        pods = {pod["metadata"]["name"]: pod for pod in self.kubectl.items("pods")}
        late = [one.id for one in questions if not _scheduled(pods[one.id])]
        if late:
            self._wait(late, f"jsonpath={SCHEDULED}")
            pods = {pod["metadata"]["name"]: pod for pod in self.kubectl.items("pods")}
        claims = {one["metadata"]["name"]: one for one in self.kubectl.items("resourceclaims")}
        return {one.id: _answer(one, pods[one.id], claims, shown) for one in questions}

    def _wait(self, pods: Sequence[str], condition: str) -> None:
        names = [f"pod/{name}" for name in pods]
        with suppress(KubectlError):  # a pod that is not as expected gives another answer
            if names:
                self.kubectl("wait", *names, f"--for={condition}", f"--timeout={DECIDE_S}s")

    def _create(self, objects: Sequence[Object]) -> None:
        if objects:
            self.kubectl("create", "--filename=-", "--validate=false", stdin=_list(objects))

    def _apply_status(self, objects: Sequence[Object]) -> None:
        if objects:
            arguments = ("apply", "--server-side", "--subresource=status", "--validate=false")
            self.kubectl(*arguments, "--filename=-", stdin=_list(objects))

    def _take_away(self) -> None:
        """Delete everything at once; the namespace's end waits for what takes its time."""
        ours = f"labelSelector={LABEL}%3D{self.run}"
        namespace = self.kubectl.namespace
        for collection in (
            f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0",
            f"/apis/{API}/namespaces/{namespace}/resourceclaims",
            f"/apis/{API}/resourceslices?{ours}",
            f"/apis/{API}/deviceclasses?{ours}",
            f"/apis/{API}/devicetaintrules?{ours}",
        ):
            self.kubectl("delete", "--raw", collection)


def _list(objects: Sequence[Object]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def _scheduled(pod: Object) -> Object:
    """Return a pod's condition of that name, or nothing."""
    conditions = pod.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == "PodScheduled"), {})


def _answer(
    question: Question,
    pod: Object,
    claims: dict[str, Any],
    shown: Callable[[Object], list[str]],
) -> Answer:
    scheduled = _scheduled(pod)
    if scheduled.get("status") == "True":
        assert pod["spec"]["nodeName"] == question.node
        return [shown(claims[name]["status"]["allocation"]) for name in question.claims]
    return "error" if scheduled.get("reason") == "SchedulerError" else None
