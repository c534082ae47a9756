"""Permissions: what the driver's account may do, and what the user of this command may do.

The API server is asked by access reviews, which change nothing.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from netclaim.controller.cluster.objects import ADDRESS_POOLS, POD_NETWORKS
from netclaim.doctor.cluster.shipped import RIGHTS, how_to_apply, shipped
from netclaim.doctor.cluster.sight import BINDINGS, POLICIES, ClusterSight
from netclaim.doctor.finding import Finding, check, error, ok, skipped, unknown
from netclaim.doctor.releases import GRANULAR_SINCE, Release
from netclaim.kube import NAMESPACES, NODES, PODS, Client, NotFoundError, Resource, dra_resource
from netclaim.kube.resource import ACCESS_REVIEWS, DAEMON_SETS, DEPLOYMENTS
from netclaim.model.claims.claim import JsonObject
from netclaim.network import DRIVER_NAME
from netclaim.screen.words import listed

SELF: Final = replace(
    ACCESS_REVIEWS, plural="selfsubjectaccessreviews", kind="SelfSubjectAccessReview"
)
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
        """The right as a review asks for it, in all namespaces."""
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
    who = {"user": account.user, "groups": account.groups}
    try:
        missing = await _missing(cluster.client, wanted, ACCESS_REVIEWS, who)
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
    resources = (
        *(dra_resource(kind, version) for kind in kinds),
        *(NODES, NAMESPACES, PODS, DAEMON_SETS, DEPLOYMENTS),
        *(POD_NETWORKS, ADDRESS_POOLS, POLICIES, BINDINGS),
    )
    wanted = [Right("list", each.group, each.plural) for each in resources]
    try:
        missing = await _missing(cluster.client, wanted, SELF, {})
    except NotFoundError:
        return skipped(NO_REVIEWS)
    if missing:
        return unknown(
            f"you may not {listed([str(r) for r in missing])}; some checks could not look",
            "run the command as somebody who may, for example a cluster admin",
        )
    return ok("you may read everything that the checks look at")


def needed(driver: str, release: Release) -> Iterator[Right]:
    """Yield the rights that deploy/rbac.yaml gives to the driver, as far as a release has them."""
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
    client: Client, wanted: Sequence[Right], kind: Resource, who: JsonObject
) -> list[Right]:
    """Return the rights that somebody lacks, by asking with reviews of a kind."""
    # Not a TaskGroup: the first refusal is the answer, and all are refused alike.
    answers = await asyncio.gather(*(_allowed(client, kind, right, who) for right in wanted))
    return [right for right, allowed in zip(wanted, answers, strict=True) if not allowed]


async def _allowed(client: Client, kind: Resource, right: Right, who: JsonObject) -> bool:
    review = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {},
        "spec": {**who, "resourceAttributes": right.attributes},
    }
    answer = await client.create(kind, review)
    return bool((answer.get("status") or {}).get("allowed"))
