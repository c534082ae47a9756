"""Permissions, by trying: what the driver's account may do, and what the user of this command may.

The API server is asked with the reviews that it has for this, so nothing is done.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, NamedTuple

from netclaim.doctor.cluster_sight import BINDINGS, DAEMON_SETS, POLICIES, ClusterSight, Release
from netclaim.doctor.finding import Finding, check, error, listed, ok, skipped, unknown
from netclaim.doctor.shipped import RIGHTS, how_to_apply, shipped
from netclaim.kube import NAMESPACES, NODES, PODS, Client, NotFoundError, Resource, dra_resource
from netclaim.model.claim import JsonObject
from netclaim.network.settings import DRIVER_NAME

__all__ = ["driver_rights", "own_rights"]

REVIEWS: Final = "authorization.k8s.io"
SUBJECT: Final = Resource(
    REVIEWS, "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
SELF: Final = Resource(
    REVIEWS, "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
GRANULAR_SINCE: Final = Release(1, 36)  # before, nobody asks for resourceclaims/driver
NO_REVIEWS: Final = "the API server does not serve reviews of permissions"


class Right(NamedTuple):
    """One verb on one resource, perhaps of one name."""

    verb: str
    group: str
    resource: str  # with its subresource: `resourceclaims/status`
    name: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{f' ({self.name})' if self.name else ''}"

    @property
    def attributes(self) -> JsonObject:
        """As a review asks for it, in all namespaces."""
        resource, _, subresource = self.resource.partition("/")
        asked = {
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "name": self.name,
        }
        return {key: value for key, value in asked.items() if value}


@check(
    "rbac-driver",
    "Permissions of the driver",
    why="the driver publishes slices, reads claims and writes their status with its own account",
)
async def driver_rights(cluster: ClusterSight) -> Finding:
    """Ask for each right of deploy/rbac.yaml whether the driver's account has it."""
    account = await cluster.account()
    wanted = list(needed(cluster.driver, await cluster.release()))

    async def is_missing(right: Right) -> bool:
        spec = {"user": account.user, "groups": account.groups}
        return not await _allowed(cluster.client, SUBJECT, right, spec)

    try:
        missing = await _missing(wanted, is_missing)
    except NotFoundError:
        return skipped(NO_REVIEWS)
    if missing:
        return error(
            f"{account.namespace}/{account.name} may not {listed([str(r) for r in missing])}",
            how_to_apply(RIGHTS),
        )
    return ok(f"{account.namespace}/{account.name} has all {len(wanted)} rights")


@check(
    "rbac-own",
    "Permissions of this command",
    why="what you may not read, the doctor cannot look at",
)
async def own_rights(cluster: ClusterSight) -> Finding:
    """Ask which of the lists that the other checks read the user may read."""
    version = await cluster.dra_version()
    kinds = ("ResourceSlice", "DeviceClass", "ResourceClaim")
    resources = (*(dra_resource(kind, version) for kind in kinds), NODES, NAMESPACES, PODS,
                 DAEMON_SETS, POLICIES, BINDINGS)  # fmt: skip
    wanted = [Right("list", each.group, each.plural) for each in resources]

    async def is_missing(right: Right) -> bool:
        return not await _allowed(cluster.client, SELF, right, {})

    try:
        missing = await _missing(wanted, is_missing)
    except NotFoundError:
        return skipped(NO_REVIEWS)
    if missing:
        return unknown(
            f"you may not {listed([str(r) for r in missing])}; some checks could not look",
            "run the command as somebody who may, for example a cluster admin",
        )
    return ok("you may read everything that the checks look at")


def needed(driver: str, release: Release) -> Iterator[Right]:
    """Yield the rights that deploy/rbac.yaml gives to the driver, as far as a release asks them."""
    roles = [each for each in shipped(RIGHTS) if each["kind"] == "ClusterRole"]
    for rule in (rule for role in roles for rule in role["rules"]):
        for resource in rule["resources"]:
            if resource == "resourceclaims/driver" and release < GRANULAR_SINCE:
                continue
            names = rule.get("resourceNames") or [""]
            for name in (driver if name == DRIVER_NAME else name for name in names):
                for verb in rule["verbs"]:
                    yield Right(verb, rule["apiGroups"][0], resource, name)


async def _missing(
    wanted: list[Right], is_missing: Callable[[Right], Awaitable[bool]]
) -> list[Right]:
    # Not a TaskGroup: the first refusal is the answer, and all are refused alike.
    answers = await asyncio.gather(*map(is_missing, wanted))
    return [right for right, missing in zip(wanted, answers, strict=True) if missing]


async def _allowed(client: Client, kind: Resource, right: Right, who: JsonObject) -> bool:
    review = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {},
        "spec": {**who, "resourceAttributes": right.attributes},
    }
    answer = await client.create(kind, review)
    return bool((answer.get("status") or {}).get("allowed"))
