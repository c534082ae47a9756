"""Server-side apply on the embedded API server: who owns what, and what follows."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.kube import Client, ConflictError, DraApi, NotFoundError, dra_resource
from netclaim.local.api.fieldset import decode_fields, encode_fields, fields_of, merged
from netclaim.local.api.managers import Writer, applied, written
from netclaim.model.claims.claim import JsonObject
from tests.pure.local.api.test_objects import claim
from tests.support.local.parts import new_verbs, serving

CLAIMS = dra_resource("ResourceClaim", "v1")
RESULT = {"request": "a", "driver": "d.example.com", "pool": "n", "device": "eth1"}
DEVICE = {"driver": "d.example.com", "pool": "n", "device": "eth1"}


def labelled(**labels: str) -> JsonObject:
    """An intent that is about labels alone."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "x", "namespace": "default", "labels": labels},
    }


async def stored(client: Client) -> JsonObject:
    """The claim as it is by now."""
    return await client.get(CLAIMS, "x", namespace="default")


async def test_intent_replaces_the_last_one() -> None:
    """What a manager leaves out of its next intent goes, unless it is another's too."""
    async with serving(new_verbs()) as client:
        await client.create(CLAIMS, claim())
        await client.apply(CLAIMS, labelled(a="1", b="1"), field_manager="one")
        await client.apply(CLAIMS, labelled(b="1", c="1"), field_manager="two")
        await client.apply(CLAIMS, labelled(), field_manager="one")
        left = await stored(client)
        assert left["metadata"]["labels"] == {"b": "1", "c": "1"}


async def test_field_of_another_is_a_conflict() -> None:
    """Changing what another owns needs force, which makes it one's own."""
    async with serving(new_verbs()) as client:
        await client.create(CLAIMS, claim())
        await client.apply(CLAIMS, labelled(a="1"), field_manager="one")
        with pytest.raises(ConflictError) as caught:
            await client.apply(CLAIMS, labelled(a="2"), field_manager="two")
        (cause,) = caught.value.causes
        assert (cause.field, cause.reason) == (".metadata.labels.a", "FieldManagerConflict")
        await client.apply(CLAIMS, labelled(a="2"), field_manager="two", force=True)
        taken = await stored(client)
        assert taken["metadata"]["labels"] == {"a": "2"}
        await client.apply(CLAIMS, labelled(), field_manager="one")
        left = await stored(client)
        assert left["metadata"]["labels"] == {"a": "2"}
        await client.apply(CLAIMS, labelled(), field_manager="two")
        gone = await stored(client)
        assert "labels" not in gone["metadata"]


async def test_forced_field_is_no_longer_the_others() -> None:
    """Who lost a field by force does not keep it when its new owner lets go of it."""
    async with serving(new_verbs()) as client:
        await client.create(CLAIMS, claim())
        await client.apply(CLAIMS, labelled(a="1"), field_manager="one")
        await client.apply(CLAIMS, labelled(a="2"), field_manager="two", force=True)
        await client.apply(CLAIMS, labelled(), field_manager="two")
        gone = await stored(client)
        assert "labels" not in gone["metadata"]


async def test_plain_write_takes_what_it_changes() -> None:
    """A field that somebody overwrites by a plain write is that writer's alone."""
    async with serving(new_verbs()) as client:
        await client.create(CLAIMS, claim(), field_manager="maker")
        await client.apply(CLAIMS, labelled(a="1", b="1"), field_manager="one")
        patch = {"metadata": {"labels": {"a": "2"}}}
        await client.patch(CLAIMS, "x", patch, namespace="default", field_manager="two")
        found = await stored(client)
        labels = {
            entry["manager"]: entry["fieldsV1"].get("f:metadata", {}).get("f:labels", {})
            for entry in found["metadata"]["managedFields"]
        }
        assert labels == {"maker": {}, "one": {"f:b": {}}, "two": {"f:a": {}}}


async def test_same_intent_again_is_no_change() -> None:
    """Applying the same twice leaves the version as it is."""
    async with serving(new_verbs()) as client:
        await client.create(CLAIMS, claim())
        await client.apply(CLAIMS, labelled(a="1"), field_manager="one")
        first = await stored(client)
        await client.apply(CLAIMS, labelled(a="1"), field_manager="one")
        again = await stored(client)
        assert again == first


async def test_driver_reports_its_devices() -> None:
    """Two drivers' reports on one claim stand side by side, and each replaces its own."""
    other = {**DEVICE, "driver": "e.example.com"}
    results = [RESULT, {**RESULT, "driver": "e.example.com"}]
    async with serving(new_verbs()) as client:
        made = await client.create(CLAIMS, claim())
        made["status"] = {"allocation": {"devices": {"results": results}}}
        await client.update(CLAIMS, made, subresource="status")
        api = await DraApi.negotiated(client)
        uid = made["metadata"]["uid"]
        for manager, device in (("d", DEVICE), ("e", other)):
            await api.apply_claim_devices("default", "x", uid, [device], field_manager=manager)
        changed = {**DEVICE, "networkData": {"ips": ["10.0.0.1/24"]}}
        await api.apply_claim_devices("default", "x", uid, [changed], field_manager="d")
        found = await stored(client)
        assert found["status"]["devices"] == [changed, other]
        await api.apply_claim_devices("default", "x", uid, [], field_manager="d")
        found = await stored(client)
        assert found["status"]["devices"] == [other]


async def test_claim_that_was_replaced_is_not_found() -> None:
    """A report for a claim whose name is another's by now reaches nobody."""
    async with serving(new_verbs()) as client:
        await client.create(CLAIMS, claim())
        api = await DraApi.negotiated(client)
        uid = "11111111-1111-1111-1111-111111111111"
        with pytest.raises(NotFoundError):
            await api.apply_claim_devices("default", "x", uid, [], field_manager="d")


LABELS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("123"), max_size=3)
DEVICES = st.lists(
    st.fixed_dictionaries(
        {"driver": st.sampled_from("de"), "pool": st.just("n"), "device": st.sampled_from("xy")},
        optional={"data": st.dictionaries(st.sampled_from("pq"), st.integers(0, 1), max_size=2)},
    ),
    max_size=3,
    unique_by=lambda device: (device["driver"], device["device"]),
)
OBJECTS = st.builds(
    lambda labels, devices: {
        "apiVersion": "v1",
        "kind": "X",
        **({"metadata": {"labels": labels}} if labels else {"metadata": {}}),
        **({"status": {"devices": devices}} if devices else {}),
    },
    LABELS,
    DEVICES,
)


def writer(name: str, operation: str = "Apply") -> Writer:
    """A manager."""
    return Writer(name, operation, "", "v1", "now")


@given(OBJECTS)
def test_fields_survive_their_encoding(found: JsonObject) -> None:
    """The nested form of a set of fields is read back as the same set."""
    fields = frozenset(fields_of(found))
    assert decode_fields(encode_fields(fields)) == fields


@given(OBJECTS, OBJECTS)
def test_merging_holds_all_of_the_intent(live: JsonObject, wanted: JsonObject) -> None:
    """After a merge every field of the intent is there as the intent has it."""
    result = fields_of(merged(live, wanted))
    assert all(result.get(path) == value for path, value in fields_of(wanted).items())


@given(OBJECTS, OBJECTS)
def test_taking_back_an_intent_restores(live: JsonObject, wanted: JsonObject) -> None:
    """Applying something and then nothing leaves what others wrote as it was."""
    start = written(live, {}, writer("other", "Update"))
    changed = applied(start, wanted, writer("me"))
    empty: dict[str, Any] = {"apiVersion": "v1", "kind": "X", "metadata": {}}
    back = applied(changed, empty, writer("me"))
    theirs = {
        path: value for path, value in _owned(live).items() if _owned(wanted).get(path) == value
    }
    kept = _owned(back)
    untouched = {p: v for p, v in _owned(live).items() if p not in _owned(wanted)}
    assert all(kept.get(path) == value for path, value in {**theirs, **untouched}.items())
    assert kept.keys() <= _owned(live).keys()


def _owned(found: JsonObject) -> dict[Any, Any]:
    meta = {"labels": found.get("metadata", {}).get("labels", {})}
    return fields_of({"metadata": meta, "status": found.get("status", {})})
