"""What the checks of a cluster look at: its objects, each list read once.

Promise: nothing is changed; reviews of permissions and dry runs store nothing. A list is read when
the first check asks for it, and every check gets the same answer or the same error. Limit: each
list is of the moment when it was read, and lists may differ by a second or so.
"""

import asyncio
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from netclaim.doctor.releases import Release
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
from netclaim.kube.resource import DAEMON_SETS
from netclaim.manifests.kinds import GROUP
from netclaim.manifests.versions.conversion import Version, to_v1
from netclaim.model.claims.claim import JsonObject
from netclaim.model.pools.counted_pool import pool_of
from netclaim.survey.driver_pods import DRIVER_PODS, driver_in

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
GATE: Final = re.compile(r'^kubernetes_feature_enabled\{name="(\w+)"[^}]*\} ([01])$', re.MULTILINE)


class Account(NamedTuple):
    """A service account."""

    namespace: str
    name: str

    @property
    def user(self) -> str:
        """Its name to the API server."""
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
        """Without a DaemonSet, the driver's account is `account`.

        The DaemonSet is looked for in `namespace`, or everywhere if that is empty.
        """
        self.client = client
        self.driver = driver
        self.clock = clock
        self._namespace = namespace
        self._usual_account = account._replace(namespace=namespace or account.namespace)
        self._known: dict[object, Any] = {}
        self._turns: defaultdict[object, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def once(self, key: object, read: Callable[[], Awaitable[Any]]) -> Any:
        """Read something, or return what was read before; an error is kept and raised again."""
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
        listing = await self.once(selection, lambda: self.client.list(selection))
        return tuple(listing.items)

    async def version(self) -> Mapping[str, str]:
        """Return what the API server says of itself."""
        found: Mapping[str, str] = await self.once(
            "version", lambda: self.client.get_path("/version")
        )
        return found

    async def release(self) -> Release:
        return Release.read((await self.version()).get("gitVersion", "")) or Release(0, 0)

    async def nodes(self) -> tuple[JsonObject, ...]:
        return await self.list(Selection(NODES))

    async def namespaces(self) -> tuple[JsonObject, ...]:
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
        """Return the slices of the driver on the nodes, without those of pools of addresses."""
        found = await self.dra("ResourceSlice")
        return tuple(
            each
            for each in found
            if each["spec"].get("driver") == self.driver
            and not pool_of(each["spec"]["pool"]["name"])
        )

    async def daemon_set(self) -> JsonObject | None:
        """Return the driver's DaemonSet, if it has one that we may see.

        The usual namespace comes first: in others, anybody may have one that is labelled like it.
        """
        spaces = [self._namespace] if self._namespace else [self._usual_account.namespace, ""]
        for space in spaces:
            with suppress(NotFoundError, ForbiddenError):
                labelled = Selection(DAEMON_SETS, namespace=space, labels=DRIVER_PODS)
                for each in await self.list(labelled):
                    if driver_in(each["spec"]["template"]["spec"]) in ("", self.driver):
                        return each
        return None

    async def namespace(self) -> str:
        """Return where the driver's pods are, or would be."""
        found = await self.daemon_set()
        return str(found["metadata"]["namespace"]) if found else self._usual_account.namespace

    async def driver_pods(self) -> tuple[JsonObject, ...]:
        """Return the pods of the driver's DaemonSet."""
        space = await self.namespace()
        return await self.list(Selection(PODS, namespace=space, labels=DRIVER_PODS))

    async def account(self) -> Account:
        """Return the service account of the driver: the DaemonSet's, or the usual one."""
        found = await self.daemon_set()
        spec = found["spec"]["template"]["spec"] if found else {}
        name = spec.get("serviceAccountName") or self._usual_account.name
        return Account(await self.namespace(), name)

    async def gates(self) -> Mapping[str, bool]:
        """Return the API server's feature gates, from its metrics."""
        text = await self.once("metrics", lambda: self.client.get_text("/metrics"))
        return {name: on == "1" for name, on in GATE.findall(text)}
