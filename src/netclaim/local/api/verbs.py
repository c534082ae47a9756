"""The API's verbs on the stored objects: get, list, create, update, apply, delete.

Promise: a write is validated, stamped and stored in one step, or refused and nothing has changed;
one that changes nothing leaves the version as it is. Bodies are in the stored form, with no fields
that their kind does not have. Limit: there are no users, and so nobody is refused for their rights.
"""

import secrets
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from netclaim.local.api.lifecycle import (
    SYSTEM_META,
    born,
    content,
    grace_s,
    is_over,
    through_door,
)
from netclaim.local.api.managers import Writer, applied, conflicts, written
from netclaim.local.api.store import Store
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.defaults import (
    Stamps,
    restamped,
    stamp_new,
    with_defaults,
    without_stale_devices,
)
from netclaim.schema.kinds import CLAIM, NAMESPACE, POD, Kind
from netclaim.schema.refusal import (
    Fault,
    RefusedError,
    already_exists,
    bad_request,
    conflict,
    not_found,
    refuse_invalid,
)
from netclaim.schema.review import check_changed, check_changed_status, check_new

LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"  # of generated names; without vowels, no words arise
MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
STAMPS: Final = Stamps(
    now=lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    uid=lambda: str(uuid.uuid4()),
    tail=lambda: "".join(secrets.choice(LETTERS) for _ in range(5)),
)


class Verbs:
    def __init__(self, store: Store, stamps: Stamps = STAMPS) -> None:
        self.store = store
        self._stamps = stamps

    def get(self, kind: Kind, name: str, namespace: str = "") -> JsonObject:
        found = self.store.get(kind, name, namespace)
        if found is None:
            raise not_found(kind, name)
        return found

    def list(self, kind: Kind, namespace: str = "") -> Iterator[JsonObject]:
        return self.store.list(kind, namespace)

    def create(
        self,
        kind: Kind,
        body: JsonObject,
        *,
        manager: str,
        namespace: str = "",
        core: bool = False,
        dry_run: bool = False,
    ) -> JsonObject:
        """Create an object; `core` means that an event came by the older group.

        A dry run does everything except storing it.
        """
        made = self._made(kind, body, namespace, core=core)
        complete = written(made, {}, self._writer(kind, manager, "Update"))
        return complete if dry_run else self.store.put(kind, complete)

    def update(
        self, kind: Kind, body: JsonObject, *, manager: str, subresource: str = ""
    ) -> JsonObject:
        """Replace an object, or its status; a version or UID that is given must match."""
        meta = body["metadata"]
        old = self.get(kind, meta["name"], meta.get("namespace", ""))
        if meta.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            raise conflict(kind, meta["name"], "Precondition failed: the UID is another one")
        return self.replace(kind, body, old, manager=manager, subresource=subresource)

    def replace(
        self, kind: Kind, body: JsonObject, old: JsonObject, *, manager: str, subresource: str = ""
    ) -> JsonObject:
        """Store a changed object in place of the old one."""
        new = self._changed(kind, body, old, subresource)
        writer = self._writer(kind, manager, "Update", subresource)
        return self._put(kind, written(new, old, writer), old)

    def set_status(
        self, kind: Kind, old: JsonObject, status: JsonObject, *, manager: str
    ) -> JsonObject:
        """Store an object with another status."""
        changed = {**old, "status": status}
        return self.replace(kind, changed, old, manager=manager, subresource="status")

    def apply(
        self,
        kind: Kind,
        config: JsonObject,
        *,
        manager: str,
        force: bool = False,
        namespace: str = "",
        subresource: str = "",
    ) -> tuple[JsonObject, bool]:
        """Make an object as a manager wants it; returns it, and whether it is new."""
        meta = config["metadata"]
        name = meta.get("name", "")
        namespace = meta.get("namespace") or (namespace if kind.namespaced else "")
        writer = self._writer(kind, manager, "Apply", subresource)
        wanted = through_door(config, subresource)
        old = self.store.get(kind, name, namespace)
        if old is None:
            if subresource:
                raise not_found(kind, name)
            made = self._made(kind, config, namespace, core=False)
            owners = applied(made, {**wanted, "metadata": meta}, writer)["metadata"]
            managed = owners.get("managedFields", [])
            return self.store.put(kind, _with_meta(made, managedFields=managed)), True
        faults = () if force else conflicts(old, wanted, writer)
        if faults:
            raise _apply_conflict(kind, name, faults)
        result = applied(old, wanted, writer)
        given = {key: meta[key] for key in ("uid", "resourceVersion") if meta.get(key)}
        new = self._changed(kind, _with_meta(result, **given), old, subresource)
        managed = result["metadata"].get("managedFields", [])
        return self._put(kind, _with_meta(new, managedFields=managed), old), False

    def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
        asked_grace_s: int | None = None,
    ) -> JsonObject:
        """Delete an object, or mark it if something has to be finished first."""
        old = self.get(kind, name, namespace)
        meta = old["metadata"]
        if uid and uid != meta["uid"]:
            raise conflict(kind, name, f"the UID in the precondition ({uid}) does not match")
        if resource_version and resource_version != meta["resourceVersion"]:
            raise conflict(kind, name, "the ResourceVersion in the precondition does not match")
        grace = grace_s(kind, old, asked_grace_s)
        if not grace and not meta.get("finalizers"):
            return self.store.remove(kind, old)
        if "deletionTimestamp" in meta and meta.get("deletionGracePeriodSeconds") == grace:
            return old
        ending = {"deletionTimestamp": self._stamps.now(), "deletionGracePeriodSeconds": grace}
        return self.store.put(kind, _with_meta(old, **ending))

    def bind(self, pod: JsonObject, node: str) -> JsonObject:
        """Give a pod its node, which no plain write may do."""
        return self.store.put(POD, {**pod, "spec": {**pod["spec"], "nodeName": node}})

    def _made(self, kind: Kind, body: JsonObject, namespace: str, *, core: bool) -> JsonObject:
        """Return a new object, complete and validated."""
        namespace = self._namespace(kind, body["metadata"], namespace)
        if body["metadata"].get("resourceVersion"):
            message = "resourceVersion should not be set on objects to be created"
            raise RefusedError(500, "", message)
        meta = stamp_new(body["metadata"], kind, namespace, self._stamps)
        obj = with_defaults(born({**body, "metadata": meta}, kind), kind, self._stamps.now())
        name, labels = meta.get("name", ""), self._namespace_labels(namespace)
        refuse_invalid(kind, name, check_new(obj, kind, labels, core=core))
        if self.store.get(kind, name, namespace) is not None:
            raise already_exists(kind, name)
        return obj

    def _namespace(self, kind: Kind, meta: JsonObject, asked: str) -> str:
        given = meta.get("namespace", "")
        if not kind.namespaced:  # a namespace in the object is dropped
            return ""
        if given and asked and given != asked:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the"
                " request"
            )
        namespace: str = given or asked or "default"
        if self.store.get(NAMESPACE, namespace) is None:
            raise not_found(NAMESPACE, namespace)
        return namespace

    def _namespace_labels(self, namespace: str) -> JsonObject:
        found = self.store.get(NAMESPACE, namespace) or {"metadata": {}}
        labels: JsonObject = found["metadata"].get("labels", {})
        return labels

    def _changed(
        self, kind: Kind, body: JsonObject, old: JsonObject, subresource: str
    ) -> JsonObject:
        """Return an object with a change, complete and validated."""
        meta, before = body["metadata"], old["metadata"]
        version = meta.get("resourceVersion")
        if version and version != before["resourceVersion"]:
            raise conflict(kind, before["name"], MODIFIED)
        given_uid = {"uid": meta["uid"]} if meta.get("uid") else {}
        if subresource:
            status = body.get("status", {})
            if kind is CLAIM:
                status = without_stale_devices(status, old.get("status", {}))
            new = _with_meta({**old, "status": status}, **given_uid)
            labels = self._namespace_labels(before.get("namespace", ""))
            faults = check_changed_status(new, old, kind, labels)
        else:
            system = {key: before[key] for key in SYSTEM_META if key in before}
            users = {key: value for key, value in meta.items() if key not in SYSTEM_META and value}
            rest = {key: value for key, value in body.items() if key != "status"}
            kept = {"status": old["status"]} if "status" in old else {}
            new = {**rest, **kept, "metadata": {**system, **users, **given_uid}}
            new = with_defaults(restamped(new, old, kind), kind, self._stamps.now())
            faults = check_changed(new, old, kind)
        refuse_invalid(kind, before["name"], faults)
        return new

    def _put(self, kind: Kind, new: JsonObject, old: JsonObject) -> JsonObject:
        """Store what differs; delete what was only waiting for its last finalizer."""
        if content(new) == content(old):
            return old
        meta, before = new["metadata"], old["metadata"]
        if "generation" in before and new.get("spec") != old.get("spec"):
            new = _with_meta(new, generation=before["generation"] + 1)
        stored = self.store.put(kind, new)
        return self.store.remove(kind, stored) if is_over(meta) else stored

    def _writer(self, kind: Kind, manager: str, operation: str, subresource: str = "") -> Writer:
        version = kind.addresses[0].api_version
        return Writer(manager, operation, subresource, version, self._stamps.now())


def _with_meta(obj: JsonObject, **fields: object) -> JsonObject:
    return {**obj, "metadata": {**obj["metadata"], **fields}}


def _apply_conflict(kind: Kind, name: str, faults: tuple[Fault, ...]) -> RefusedError:
    message = ", ".join(f"{fault.message}: {fault.field}" for fault in faults)
    return RefusedError(
        409,
        "Conflict",
        f"Apply failed with {len(faults)} conflicts: {message}",
        details={"name": name, "group": kind.group, "kind": kind.plural},
        faults=faults,
    )
