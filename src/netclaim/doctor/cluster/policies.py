"""Admission policies: installed, bound, as shipped, and for the driver that is there."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Final

from netclaim.doctor.cluster.shipped import (
    CLAIM_POLICIES,
    NODE_POLICIES,
    differences,
    how_to_apply,
    shipped,
)
from netclaim.doctor.cluster.sight import BINDINGS, POLICIES, ClusterSight
from netclaim.doctor.finding import Finding, check, error, ok, skipped, warning
from netclaim.kube import NotFoundError, Selection
from netclaim.model.claims.claim import JsonObject
from netclaim.network.policy.levels import LABEL, Level
from netclaim.screen.words import listed

# Variables that the files ask admins to adapt to their drivers.
SETTINGS: Final = ("drivers", "defaultLevel", "claimPlugins")
WHOSE: Final = "from-the-driver"


@check(
    "policies-node",
    "Policies for the nodes' drivers",
    why="without them, a token stolen from one node can change the slices and claims of all nodes",
)
async def node_policies(cluster: ClusterSight) -> Finding:
    """Compare the installed policies with those of deploy/node-admission.yaml."""
    account = await cluster.account()
    return await _compared(cluster, NODE_POLICIES, error, account.user)


@check(
    "policies-claims",
    "Policies for claims",
    why="they report what a claim may not do at `kubectl apply`; the driver checks it in any case",
)
async def claim_policies(cluster: ClusterSight) -> Finding:
    """Compare the installed policies with those of deploy/claim-admission.yaml."""
    return await _compared(cluster, CLAIM_POLICIES, warning)


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


async def _compared(
    cluster: ClusterSight, file: str, different: Callable[[str, str], Finding], user: str = ""
) -> Finding:
    """Compare the policies of a file; what is not as shipped becomes a finding by `different`."""
    try:
        faults = [each async for each in _faults(cluster, file, user)]
    except NotFoundError:
        return skipped("the API server does not serve admission policies")
    if faults:
        return different(listed(faults), how_to_apply(file))
    number = len(_of_kind(file, POLICIES.kind))
    return ok(f"{number} policies are installed and bound, as shipped")


async def _faults(cluster: ClusterSight, file: str, user: str) -> AsyncIterator[str]:
    """Yield what is wrong with the policies of a file, which should apply to `user`."""
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
        unbound = _unbound(file, wanted["metadata"]["name"], found, bindings)
        for fault in (*_misses(found, cluster.driver, user), *unbound):
            yield f"{name} {fault}"


def _unbound(
    file: str, shipped_name: str, policy: JsonObject, bindings: Sequence[JsonObject]
) -> Iterator[str]:
    """Yield why a policy is not in force: without a binding it does nothing."""
    name = policy["metadata"]["name"]
    ours = [each["spec"] for each in bindings if each["spec"].get("policyName") == name]
    specs = [each["spec"] for each in _of_kind(file, BINDINGS.kind)]
    (shipped_spec,) = (each for each in specs if each["policyName"] == shipped_name)
    wanted = {**shipped_spec, "policyName": name}
    if not ours:
        yield "is not bound"
    elif all(any(differences(wanted, each)) for each in ours):
        yield f"is not bound as shipped ({next(differences(wanted, ours[0]))})"


def _of_kind(file: str, kind: str) -> list[JsonObject]:
    return [each for each in shipped(file) if each["kind"] == kind]


def _counterpart(
    wanted: JsonObject, installed: Sequence[JsonObject], driver: str, user: str
) -> JsonObject | None:
    """Return the installed policy of the same name, or one with the same rules.

    A cluster with several drivers has several; the policy for this driver is preferred.
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
    """Return a policy's rules without what admins are to set."""
    spec = dict(found["spec"])
    spec["variables"] = [
        each for each in spec.get("variables") or () if each["name"] not in SETTINGS
    ]
    spec["matchConditions"] = [
        each for each in spec.get("matchConditions") or () if each["name"] != WHOSE
    ]
    return spec


def _misses(policy: JsonObject, driver: str, user: str) -> Iterator[str]:
    """Yield how a policy applies to other drivers or accounts than those that exist."""
    variables = {each["name"]: each["expression"] for each in policy["spec"].get("variables") or ()}
    if "drivers" in variables and not _is_quoted(driver, variables["drivers"]):
        yield f"does not name the driver {driver} in its variable drivers"
    for condition in policy["spec"].get("matchConditions") or ():
        if condition["name"] == WHOSE and user and not _is_quoted(user, condition["expression"]):
            yield f"is for another account than the driver's {user}"


def _is_quoted(text: str, expression: str) -> bool:
    """Whether an expression has a text as a whole string; a part of a string is another name."""
    return any(f"{quote}{text}{quote}" in expression for quote in "'\"")
