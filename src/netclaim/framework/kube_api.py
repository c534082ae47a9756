"""The stages' seams, filled in with the Kubernetes API."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog

from netclaim.framework.journal.pod_plans import PodClaims
from netclaim.framework.publish.slices import Create, Delete, Operation, Update
from netclaim.framework.report.claim_status import without_details
from netclaim.framework.report.reporter import StatusRefusedError
from netclaim.framework.telemetry.logs import brief
from netclaim.framework.tools.clock import Clock
from netclaim.kube import (
    AlreadyExistsError,
    ApiError,
    Client,
    ConflictError,
    DraApi,
    Event,
    ForbiddenError,
    NotFoundError,
    Resource,
    Selection,
    ServerFaultError,
    TooManyRequestsError,
    UnauthorizedError,
)
from netclaim.kube.resource import ACCESS_REVIEWS, TOKEN_REVIEWS
from netclaim.model.api.limits import FIELD_MANAGER_MAX
from netclaim.model.claims.claim import Claim, JsonObject
from netclaim.model.on_node.pod import PodSandbox
from netclaim.model.on_node.prepared import ClaimRef

log = structlog.get_logger()

REFUSED: Final = frozenset({400, 413, 422})  # not understood, too large, invalid
PREFLIGHT: Final = "preflight/"  # begins the field manager of verdicts
BINDING: Final = b'"bindingConditions"'  # in the text of every claim that has such a device
# A burst of pods is one request; an admin who changes a label sees it in effect within seconds.
LABELS_S: Final = 10.0
NAMESPACES_KEPT: Final = 256  # more than a node has pods


class Api:
    """The API in the version that the server speaks. Raises PeerError while that is not known."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._asking = asyncio.Lock()
        self._known: DraApi | None = None

    async def __call__(self) -> DraApi:
        if self._known is None:
            async with self._asking:
                if self._known is None:
                    self._known = await DraApi.negotiated(self.client)
        return self._known


@dataclass(frozen=True, slots=True)
class KubeClaims:
    api: Api

    async def get(self, ref: ClaimRef, *, driver: str = "") -> Claim | None:
        try:
            return await (await self.api()).get_claim(ref.namespace, ref.name, driver=driver)
        except NotFoundError:
            return None


class KubeNamespaces:
    """Namespaces' labels, remembered for a moment; who asks while another one does waits for it."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._kept: dict[str, tuple[float, Mapping[str, str]]] = {}  # when, what; oldest first
        self._asking: dict[str, asyncio.Future[Mapping[str, str] | None]] = {}  # None: cut off

    async def labels(self, name: str, *, fresh: bool = False) -> Mapping[str, str]:
        """A namespace's labels, at most LABELS_S old; none for a namespace that is gone.

        `fresh`: as they are now.
        """
        while True:
            kept = self._kept.get(name)
            if kept is not None and not fresh and self._clock.monotonic() - kept[0] < LABELS_S:
                return kept[1]
            asking = self._asking.get(name)
            if asking is None or fresh:
                return await self._ask(name)
            if (found := await asyncio.shield(asking)) is not None:
                return found

    async def _ask(self, name: str) -> Mapping[str, str]:
        """Read the labels, for all who want them meanwhile."""
        answer: asyncio.Future[Mapping[str, str] | None]
        answer = asyncio.get_running_loop().create_future()
        self._asking[name] = answer
        try:
            labels = await self._read(name)
            answer.set_result(labels)
        except Exception as error:
            answer.set_exception(error)
            answer.exception()  # perhaps nobody else wants it
            raise
        finally:
            if not answer.done():
                answer.set_result(None)
            if self._asking.get(name) is answer:
                del self._asking[name]
        return labels

    async def _read(self, name: str) -> Mapping[str, str]:
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


@dataclass(frozen=True, slots=True)
class KubeReviews:
    """Whom a token is of, and whether they may get a path."""

    client: Client

    async def user_of(self, token: str) -> JsonObject | None:
        status = await self._review(TOKEN_REVIEWS, {"token": token})
        return (status.get("user") or {}) if status.get("authenticated") else None

    async def may_get(self, user: JsonObject, path: str) -> bool:
        who: JsonObject = {"user": user.get("username", "")}
        who |= {key: user[key] for key in ("uid", "groups", "extra") if key in user}
        asked = {"verb": "get", "path": path}
        status = await self._review(ACCESS_REVIEWS, {**who, "nonResourceAttributes": asked})
        return bool(status.get("allowed"))

    async def _review(self, kind: Resource, spec: JsonObject) -> JsonObject:
        review: JsonObject = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {},
            "spec": spec,
        }
        return (await self.client.create(kind, review)).get("status") or {}


@dataclass(frozen=True, slots=True)
class KubeObjects:
    """Objects of any kind, for what a driver keeps in the API server."""

    client: Client

    async def get(self, resource: Resource, name: str, *, namespace: str = "") -> JsonObject | None:
        try:
            return await self.client.get(resource, name, namespace=namespace)
        except NotFoundError:
            return None

    async def find(self, resource: Resource, labels: str) -> Sequence[JsonObject]:
        return (await self.client.list(Selection(resource, labels=labels))).items

    async def create(self, resource: Resource, wanted: JsonObject) -> JsonObject | None:
        try:
            return await self.client.create(resource, wanted)
        except AlreadyExistsError:
            return None

    async def replace(self, resource: Resource, wanted: JsonObject) -> JsonObject | None:
        try:
            return await self.client.update(resource, wanted)
        except (NotFoundError, ConflictError):
            return None

    async def delete(self, resource: Resource, found: JsonObject) -> None:
        meta = found["metadata"]
        with suppress(NotFoundError, ConflictError):
            await self.client.delete(
                resource,
                meta["name"],
                namespace=meta.get("namespace", ""),
                uid=meta["uid"],
                resource_version=meta["resourceVersion"],
            )


@dataclass(frozen=True, slots=True)
class KubePods:
    api: Api

    async def claims_of(self, pod: PodSandbox) -> PodClaims | None:
        try:
            found = await (await self.api()).get_pod(pod.namespace, pod.name)
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


@dataclass(frozen=True, slots=True)
class KubeSlices:
    """One driver's slices for one node."""

    api: Api
    driver: str
    node: str

    async def watch(self) -> AsyncIterator[Sequence[JsonObject]]:
        reflector = (await self.api()).watch_slices(self.driver, self.node)
        async for _ in reflector.changes():
            yield tuple(reflector.store.values())

    async def probe(self, obj: JsonObject) -> JsonObject | None:
        """The slice as the server would store it; None if the server refuses a dry run.

        It refuses every dry run if there is an admission webhook that has side effects.
        """
        try:
            return await (await self.api()).create_slice(obj, dry_run=True)
        except (ServerFaultError, TooManyRequestsError, UnauthorizedError):
            raise
        except ApiError as error:
            log.warning("publish.unprobed", error=str(error))
            return None

    async def write(self, operation: Operation) -> JsonObject | None:
        match operation:
            case Create(obj=obj):
                return await (await self.api()).create_slice(obj)
            case Update(obj=obj):
                return await (await self.api()).update_slice(obj)
            case Delete(name=name, uid=uid, resource_version=version):
                with suppress(NotFoundError):
                    await (await self.api()).delete_slice(name, uid=uid, resource_version=version)
                return None


async def follow_binding(api: Api, opened: Callable[[], None]) -> AsyncIterator[bytes]:
    """Yield the text of claims that have binding conditions, and again of each that changes."""
    async for claim in (await api()).follow_claims(BINDING, opened=opened):
        yield claim


class KubeStatuses:
    """Claims' device status by server-side apply.

    One field manager for each driver and node: an apply replaces all that its manager wrote, and a
    claim may have devices on several nodes.
    """

    def __init__(self, api: Api, driver: str, node: str, *, what: str = "") -> None:
        """`what` distinguishes a manager from others of the same driver and node."""
        self._api = api
        self._driver = driver
        self._node = node
        self._manager = f"{what}{driver}/{node}"[:FIELD_MANAGER_MAX]

    async def apply(self, claim: ClaimRef, devices: Sequence[JsonObject]) -> bool:
        """Write the driver's entries; returns False if the claim is gone, replaced or free.

        Without their details if the API server refuses those; StatusRefusedError if it refuses all.
        """
        try:
            return await self._apply(claim, devices)
        except StatusRefusedError as error:
            log.warning("report.refused", error=brief(str(error)))
            return await self._apply(claim, [without_details(each) for each in devices])

    async def _apply(self, claim: ClaimRef, devices: Sequence[JsonObject]) -> bool:
        try:
            await (await self._api()).apply_claim_devices(
                claim.namespace, claim.name, claim.uid, devices, field_manager=self._manager
            )
        except NotFoundError:
            return False
        except ApiError as error:
            refused = error.code in REFUSED
            if not refused and not isinstance(error, ConflictError):
                raise
            if not await self._is_there(claim):  # invalid: devices that are no longer allocated
                return False
            if refused:
                raise StatusRefusedError(str(error)) from error
            raise
        return True

    async def leave_event(
        self, claim: ClaimRef, reason: str, message: str, *, normal: bool
    ) -> None:
        regarding: JsonObject = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
        }
        event = Event(
            regarding=regarding,
            reason=reason,
            note=message,
            action="Attach",
            type="Normal" if normal else "Warning",
        )
        await (await self._api()).create_event(event, controller=self._driver, instance=self._node)

    async def _is_there(self, claim: ClaimRef) -> bool:
        found = await KubeClaims(self._api).get(claim)
        return found is not None and found.uid == claim.uid and found.allocated
