"""Admission policies: installed, bound, as shipped, and for the driver that is there."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from netclaim.doctor.cluster_sight import BINDINGS, POLICIES, ClusterSight
from netclaim.doctor.finding import Finding, check, error, listed, ok, skipped, warning
from netclaim.doctor.shipped import (
    CLAIM_POLICIES,
    NODE_POLICIES,
    differences,
    how_to_apply,
    shipped,
)
from netclaim.kube import NotFoundError, Selection
from netclaim.model.claim import JsonObject
from netclaim.network.policy import LABEL, Level

__all__ = ["claim_policies", "namespace_levels", "node_policies"]

# What the files tell admins to adapt to their drivers.
SETTINGS: Final = ("drivers", "defaultLevel", "claimPlugins")
WHOSE: Final = "from-the-driver"
NOT_SERVED: Final = "the API server does not serve admission policies"


@check(
    "policies-node",
    "Policies for the nodes' drivers",
    why="without them, a token stolen from one node can change the slices and claims of all nodes",
)
async def node_policies(cluster: ClusterSight) -> Finding:
    """Compare the installed policies with those of deploy/node-admission.yaml."""
    account = await cluster.account()
    try:
        faults = [each async for each in _faults(cluster, NODE_POLICIES, account.user)]
    except NotFoundError:
        return skipped(NOT_SERVED)
    if faults:
        return error(listed(faults), how_to_apply(NODE_POLICIES))
    return ok(f"{_count(NODE_POLICIES)} policies are installed and bound, as shipped")


@check(
    "policies-claims",
    "Policies for claims",
    why="they report what a claim may not do at `kubectl apply`; the driver checks it in any case",
)
async def claim_policies(cluster: ClusterSight) -> Finding:
    """Compare the installed policies with those of deploy/claim-admission.yaml."""
    try:
        faults = [each async for each in _faults(cluster, CLAIM_POLICIES)]
    except NotFoundError:
        return skipped(NOT_SERVED)
    if faults:
        return warning(listed(faults), how_to_apply(CLAIM_POLICIES))
    return ok(f"{_count(CLAIM_POLICIES)} policies are installed and bound, as shipped")


@check(
    "namespace-levels",
    "Policy levels of namespaces",
    why="a label with an invalid level stops all claims of its namespace",
)
async def namespace_levels(cluster: ClusterSight) -> Finding:
    """Look at the label of each namespace."""
    levels = {
        str(each["metadata"]["name"]): str(each["metadata"]["labels"][LABEL])
        for each in await cluster.namespaces()
        if LABEL in (each["metadata"].get("labels") or {})
    }
    known = [str(level) for level in Level]
    wrong = [f"{name} ({level})" for name, level in levels.items() if level not in known]
    if wrong:
        name = wrong[0].partition(" ")[0]
        return error(
            f"not a policy level: {listed(wrong)}",
            f"kubectl label namespace {name} --overwrite {LABEL}={Level.BASELINE}"
            f" (or one of {', '.join(known)})",
        )
    privileged = [name for name, level in levels.items() if level == str(Level.PRIVILEGED)]
    if privileged:
        return ok(f"{Level.PRIVILEGED}: {listed(privileged)}")
    return ok(f"{len(levels)} labelled, none is {Level.PRIVILEGED}")


async def _faults(cluster: ClusterSight, file: str, user: str = "") -> AsyncIterator[str]:
    """Yield what is wrong with the policies of a file; `user` is whom they are to apply to."""
    policies = await cluster.list(Selection(POLICIES))
    bindings = await cluster.list(Selection(BINDINGS))
    for wanted in _of_kind(file, POLICIES.kind):
        name = wanted["metadata"]["name"]
        found = _counterpart(wanted, policies, cluster.driver, user)
        if found is None:
            yield f"{name} is not installed"
            continue
        different = next(differences(_comparable(wanted), _comparable(found)), "")
        if different:
            yield f"{name} is not as shipped ({different})"
        for fault in (*_misses(found, cluster.driver, user), *_unbound(file, found, bindings)):
            yield f"{name} {fault}"


def _unbound(file: str, policy: JsonObject, bindings: Sequence[JsonObject]) -> Iterator[str]:
    """Yield how a policy is not in force: a policy alone does nothing."""
    name = policy["metadata"]["name"]
    ours = [each["spec"] for each in bindings if each["spec"].get("policyName") == name]
    shipped_ones = _of_kind(file, BINDINGS.kind)
    wanted = {**shipped_ones[0]["spec"], "policyName": name}  # they differ in the name alone
    if not ours:
        yield "is not bound"
    elif all(any(differences(wanted, each)) for each in ours):
        yield f"is not bound as shipped ({next(differences(wanted, ours[0]))})"


def _of_kind(file: str, kind: str) -> list[JsonObject]:
    return [each for each in shipped(file) if each["kind"] == kind]


def _counterpart(
    wanted: JsonObject, installed: Sequence[JsonObject], driver: str, user: str
) -> JsonObject | None:
    """Return the installed object of the same name, or one that is the same under another.

    A cluster with several drivers has several: the one for this driver comes first.
    """
    name, rules = wanted["metadata"]["name"], _comparable(wanted)
    candidates = [each for each in installed if each["metadata"]["name"] == name]
    candidates += [
        each
        for each in installed
        if each["metadata"]["name"] != name and not any(differences(rules, _comparable(each)))
    ]
    fitting = (each for each in candidates if not any(_misses(each, driver, user)))
    return next(fitting, None) or next(iter(candidates), None)


def _comparable(found: JsonObject) -> JsonObject:
    """Return a policy's rules without what is for admins to set."""
    spec = dict(found["spec"])
    spec["variables"] = [
        each for each in spec.get("variables") or () if each["name"] not in SETTINGS
    ]
    spec["matchConditions"] = [
        each for each in spec.get("matchConditions") or () if each["name"] != WHOSE
    ]
    return spec


def _misses(policy: JsonObject, driver: str, user: str) -> Iterator[str]:
    """Yield how a policy is for other drivers or accounts than those that are there."""
    variables = {each["name"]: each["expression"] for each in policy["spec"].get("variables") or ()}
    if "drivers" in variables and not _is_quoted(driver, variables["drivers"]):
        yield f"does not name the driver {driver} in its variable drivers"
    for condition in policy["spec"].get("matchConditions") or ():
        if condition["name"] == WHOSE and user and not _is_quoted(user, condition["expression"]):
            yield f"is for another account than the driver's {user}"


def _is_quoted(text: str, expression: str) -> bool:
    """Whether an expression has the whole of a text as a string; a part of one is another name."""
    return any(f"{quote}{text}{quote}" in expression for quote in "'\"")


def _count(file: str) -> int:
    return len(_of_kind(file, POLICIES.kind))
