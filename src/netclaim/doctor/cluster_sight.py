"""What the checks of a cluster look at: its objects, each list read once.

Promise: only looks, but for reviews of permissions and dry runs, which store nothing. A list is
read when the first check asks for it, and each check gets the same answer or the same error.
Limit: the lists are of the moment when they were read, and may differ by a second or so.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from netclaim.errors import NetclaimError
from netclaim.kube import (
    NAMESPACES,
    NODES,
    PODS,
    Client,
    ForbiddenError,
    NotFoundError,
    Resource,
    Selection,
    dra_resource,
    negotiate,
)
from netclaim.manifests.conversion import GROUP, Version, to_v1
from netclaim.model.claim import JsonObject

__all__ = ["BINDINGS", "DAEMON_SETS", "LEASES", "POLICIES", "Account", "ClusterSight", "Release"]

DAEMON_SETS: Final = Resource("apps", "v1", "daemonsets", "DaemonSet", namespaced=True)
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease", namespaced=True)
POLICIES: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
BINDINGS: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
PENDING: Final = Selection(PODS, fields="status.phase=Pending")
NODE_LEASES: Final = Selection(LEASES, namespace="kube-node-lease")
OURS: Final = "app.kubernetes.io/name=netclaim"  # how the driver's DaemonSet is labelled
DRIVER_NAME: Final = "NETCLAIM_DRIVER_NAME"  # the variable that says which driver it runs
GATE: Final = re.compile(r'^kubernetes_feature_enabled\{name="(\w+)"[^}]*\} ([01])$', re.MULTILINE)
NUMBER: Final = re.compile(r"v?(\d+)\.(\d+)")


class Release(NamedTuple):
    """A version as far as it decides what there is."""

    major: int
    minor: int

    @classmethod
    def read(cls, text: str) -> "Release | None":
        """Read `v1.36.4` and the like; None if it is not a version."""
        found = NUMBER.match(text)
        return cls(int(found[1]), int(found[2])) if found else None

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class Account(NamedTuple):
    """A service account."""

    namespace: str
    name: str

    @property
    def user(self) -> str:
        """What the API server calls it."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def groups(self) -> list[str]:
        """The groups that every such account is in."""
        every = "system:serviceaccounts"
        return [every, f"{every}:{self.namespace}", "system:authenticated"]


class ClusterSight:
    """One cluster, as the checks see it."""

    def __init__(
        self,
        client: Client,
        *,
        driver: str,
        account: Account,
        namespace: str = "",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`account` is the driver's if it has no DaemonSet in `namespace`; empty: in any."""
        self.client = client
        self.driver = driver
        self.clock = clock
        self._namespace = namespace
        self._usual_account = account._replace(namespace=namespace or account.namespace)
        self._known: dict[object, Any] = {}
        self._turns: defaultdict[object, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def once(self, key: object, read: Callable[[], Awaitable[Any]]) -> Any:
        """Read something, or return what was read before; an error is remembered, too."""
        async with self._turns[key]:
            if key not in self._known:
                try:
                    self._known[key] = await read()
                except NetclaimError as error:
                    self._known[key] = error
        if isinstance(self._known[key], NetclaimError):
            raise self._known[key]
        return self._known[key]

    async def list(self, selection: Selection) -> tuple[JsonObject, ...]:
        """Return the objects of a selection."""
        listing = await self.once(selection, lambda: self.client.list(selection))
        return tuple(listing.items)

    async def version(self) -> Mapping[str, str]:
        """Return what the API server says of itself."""
        found: Mapping[str, str] = await self.once(
            "version", lambda: self.client.get_path("/version")
        )
        return found

    async def release(self) -> Release:
        """Return the API server's release."""
        return Release.read((await self.version()).get("gitVersion", "")) or Release(0, 0)

    async def nodes(self) -> tuple[JsonObject, ...]:
        """Return the nodes."""
        return await self.list(Selection(NODES))

    async def namespaces(self) -> tuple[JsonObject, ...]:
        """Return the namespaces."""
        return await self.list(Selection(NAMESPACES))

    async def dra_version(self) -> Version:
        """Return the version of resource.k8s.io to use; NotServedError if there is none."""
        version: Version = await self.once("dra", lambda: negotiate(self.client))
        return version

    async def dra_versions(self) -> tuple[str, ...]:
        """Return all versions of resource.k8s.io that are served."""
        try:
            group = await self.once("group", lambda: self.client.get_path(f"/apis/{GROUP}"))
        except NotFoundError:
            return ()
        return tuple(str(each["version"]) for each in group.get("versions") or ())

    async def dra(self, kind: str) -> tuple[JsonObject, ...]:
        """Return the objects of a kind of resource.k8s.io in all namespaces, in v1's form."""
        version = await self.dra_version()
        found = await self.list(Selection(dra_resource(kind, version)))
        return tuple(to_v1(each, kind, version) for each in found)

    async def slices(self) -> tuple[JsonObject, ...]:
        """Return the slices of the driver."""
        found = await self.dra("ResourceSlice")
        return tuple(each for each in found if each["spec"].get("driver") == self.driver)

    async def daemon_set(self) -> JsonObject | None:
        """Return the driver's DaemonSet, if it has one that we may see.

        The usual namespace comes first: in others, anybody may have one that is labelled like it.
        """
        spaces = [self._namespace] if self._namespace else [self._usual_account.namespace, ""]
        for space in spaces:
            with suppress(NotFoundError, ForbiddenError):
                for each in await self.list(Selection(DAEMON_SETS, namespace=space, labels=OURS)):
                    if _driver_of(each) in ("", self.driver):
                        return each
        return None

    async def namespace(self) -> str:
        """Return where the driver's pods are, or would be."""
        found = await self.daemon_set()
        return str(found["metadata"]["namespace"]) if found else self._usual_account.namespace

    async def driver_pods(self) -> tuple[JsonObject, ...]:
        """Return the pods of the driver's DaemonSet."""
        return await self.list(Selection(PODS, namespace=await self.namespace(), labels=OURS))

    async def account(self) -> Account:
        """Return the service account of the driver: the DaemonSet's, or the usual one."""
        found = await self.daemon_set()
        spec = found["spec"]["template"]["spec"] if found else {}
        name = spec.get("serviceAccountName") or self._usual_account.name
        return Account(await self.namespace(), name)

    async def gates(self) -> Mapping[str, bool]:
        """Return the API server's feature gates, by its own metrics."""
        text = await self.once("metrics", lambda: self.client.get_text("/metrics"))
        return {name: on == "1" for name, on in GATE.findall(text)}


def _driver_of(daemon_set: JsonObject) -> str:
    """Return the name of the driver that a DaemonSet runs; empty if it does not say."""
    containers = daemon_set["spec"]["template"]["spec"].get("containers") or ()
    said = (each for one in containers for each in one.get("env") or ())
    return next((each.get("value", "") for each in said if each["name"] == DRIVER_NAME), "")
