"""The stages' seams, filled in with the Kubernetes API."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeAlias

import structlog

from netclaim.framework.clock import Clock
from netclaim.framework.pod_plans import PodClaims
from netclaim.framework.slices import Create, Delete, Operation, Update
from netclaim.kube import (
    ApiError,
    Client,
    ConflictError,
    DraApi,
    Event,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ServerFaultError,
    TooManyRequestsError,
    UnauthorizedError,
)
from netclaim.model.claim import Claim, JsonObject, parse_claim
from netclaim.model.pod import PodSandbox
from netclaim.model.prepared import ClaimRef

__all__ = [
    "PREFLIGHT",
    "Api",
    "ApiSource",
    "KubeAllocations",
    "KubeClaims",
    "KubeNamespaces",
    "KubePods",
    "KubeSlices",
    "KubeStatuses",
]

log = structlog.get_logger()

FIELD_MANAGER_MAX: Final = 128  # characters, by the API
PREFLIGHT: Final = "preflight/"  # begins the field manager of verdicts
BINDING: Final = b'"bindingConditions"'  # in the text of every claim that has such a device
# A burst of pods is one request; an admin who changes a label sees it in effect within seconds.
LABELS_S: Final = 10.0
NAMESPACES_KEPT: Final = 256  # more than a node has pods


ApiSource: TypeAlias = Callable[[], Awaitable[DraApi]]
"""The API in the version that the server speaks. Raises PeerError while that is not known."""


class Api:
    """An ApiSource that asks the server which version it speaks, once it answers."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._asking = asyncio.Lock()
        self._known: DraApi | None = None

    async def __call__(self) -> DraApi:
        """The API. Again: the same."""
        if self._known is None:
            async with self._asking:
                if self._known is None:
                    self._known = await DraApi.negotiated(self._client)
        return self._known


class KubeClaims:
    """Claims, one request each."""

    def __init__(self, api: ApiSource) -> None:
        self._api = api

    async def get(self, ref: ClaimRef) -> Claim | None:
        """The claim as it is now; None if there is none of that name."""
        try:
            return parse_claim(await (await self._api()).get_claim(ref.namespace, ref.name))
        except NotFoundError:
            return None


class KubeNamespaces:
    """Namespaces' labels, as an admin set them a moment ago."""

    def __init__(self, api: ApiSource, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._kept: dict[str, tuple[float, Mapping[str, str]]] = {}  # when, what; oldest first

    async def labels(self, name: str) -> Mapping[str, str]:
        """A namespace's labels, at most LABELS_S old. One that is gone has none."""
        kept = self._kept.get(name)
        if kept is not None and self._clock.monotonic() - kept[0] < LABELS_S:
            return kept[1]
        asked_s = self._clock.monotonic()
        try:
            found = await (await self._api()).get_namespace(name)
        except NotFoundError:
            return {}
        labels: Mapping[str, str] = found["metadata"].get("labels") or {}
        self._kept.pop(name, None)
        self._kept[name] = (asked_s, labels)
        if len(self._kept) > NAMESPACES_KEPT:
            del self._kept[next(iter(self._kept))]
        return labels


class KubePods:
    """Pods, one request each."""

    def __init__(self, api: ApiSource) -> None:
        self._api = api

    async def claims_of(self, pod: PodSandbox) -> PodClaims | None:
        """The claims that the pod uses; None if it is gone."""
        try:
            found = await (await self._api()).get_pod(pod.namespace, pod.name)
        except NotFoundError:
            return None
        except ForbiddenError as error:  # no reason to hold up every pod of the node
            log.warning(
                "pods.forbidden", error=str(error), hint="grant the driver the right to get pods"
            )
            return PodClaims(known=False)
        if found["metadata"]["uid"] != pod.uid:
            return None
        status = found.get("status", {})
        entries = [
            *found["spec"].get("resourceClaims", ()),
            *status.get("resourceClaimStatuses", ()),
            status.get("extendedResourceClaimStatus") or {},
        ]
        names = (entry.get("resourceClaimName") for entry in entries)
        return PodClaims(frozenset(name for name in names if name))


class KubeSlices:
    """One driver's slices for one node."""

    def __init__(self, api: ApiSource, driver: str, node: str) -> None:
        self._api = api
        self._driver = driver
        self._node = node

    async def watch(self) -> AsyncIterator[Sequence[JsonObject]]:
        """All slices, and again after each change."""
        reflector = (await self._api()).watch_slices(self._driver, self._node)
        async for _ in reflector.changes():
            yield tuple(reflector.store.values())

    async def probe(self, obj: JsonObject) -> JsonObject | None:
        """The slice as the server would store it; None if it refuses to try.

        An admission webhook that has side effects makes it refuse every dry run.
        """
        try:
            return await (await self._api()).create_slice(obj, dry_run=True)
        except (ServerFaultError, TooManyRequestsError, UnauthorizedError):
            raise
        except ApiError as error:
            log.warning("publish.unprobed", error=str(error))
            return None

    async def write(self, operation: Operation) -> JsonObject | None:
        """Carry out one operation; deleting what is gone already is no fault."""
        match operation:
            case Create(obj=obj):
                return await (await self._api()).create_slice(obj)
            case Update(obj=obj):
                return await (await self._api()).update_slice(obj)
            case Delete(name=name, uid=uid, resource_version=version):
                try:
                    await (await self._api()).delete_slice(name, uid=uid, resource_version=version)
                except NotFoundError:
                    return None
                return None


class KubeAllocations:
    """The cluster's claims that have binding conditions."""

    def __init__(self, api: ApiSource) -> None:
        self._api = api

    async def follow(self, opened: Callable[[], None]) -> AsyncIterator[JsonObject]:
        """Yield them, and again after each change."""
        async for claim in (await self._api()).follow_claims(BINDING, opened=opened):
            yield claim


class KubeStatuses:
    """Claims' device status by server-side apply.

    One field manager for each driver and node: an apply replaces all that its manager wrote, and a
    claim may have devices on several nodes.
    """

    def __init__(self, api: ApiSource, driver: str, node: str, *, what: str = "") -> None:
        """`what` tells a manager from others of the same driver and node."""
        self._api = api
        self._driver = driver
        self._node = node
        self._manager = f"{what}{driver}/{node}"[:FIELD_MANAGER_MAX]

    async def apply(self, claim: ClaimRef, devices: Sequence[JsonObject]) -> bool:
        """Write the driver's entries; False when the claim is gone, another one or free by now."""
        try:
            await (await self._api()).apply_claim_devices(
                claim.namespace, claim.name, claim.uid, devices, field_manager=self._manager
            )
        except NotFoundError:
            return False
        except (ConflictError, InvalidError):  # invalid: devices that are no longer allocated
            if await self._is_there(claim):
                raise
            return False
        return True

    async def warn(self, claim: ClaimRef, reason: str, message: str) -> None:
        """Leave a warning event at the claim."""
        regarding: JsonObject = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
        }
        event = Event(
            regarding=regarding, reason=reason, note=message, action="Attach", type="Warning"
        )
        await (await self._api()).create_event(event, controller=self._driver, instance=self._node)

    async def _is_there(self, claim: ClaimRef) -> bool:
        found = await KubeClaims(self._api).get(claim)
        return found is not None and found.uid == claim.uid and found.allocated
