"""Annotated pods on an embedded API server: their claims, events, and what Multus' readers see."""

import json
from typing import Any

from netclaim.controller.annotated.names import (
    ANNOTATION,
    LABEL,
    NAMESPACE_LABEL,
    NAMESPACE_VALUE,
    POD_CLAIM,
    STATUS_ANNOTATION,
    TEMPLATE,
)
from netclaim.controller.waiting_pods.nudge import ANNOTATION as NUDGED
from netclaim.local.api import Verbs
from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import CLAIM, DEFINITION, EVENT, POD, POD_NETWORK, Kind
from netclaim.schema.refusal import RefusedError
from tests.support.controller_parts import DRIVER, World, controlled

CONFIG = {"type": "macvlan", "master": "eth1"}
DEFAULT_ENTRY = {"name": "cluster", "interface": "eth0", "ips": ["10.244.0.7"], "default": True}


async def test_a_pod_gets_one_claim_and_is_nudged() -> None:
    """Kubernetes' own controller looks for the claim when the pod changes."""
    async with controlled("team") as world:
        opt_in(world, "team")
        definition(world, "media-net")
        annotated_pod(world, "app", "media-net")
        await world.until(lambda: NUDGED in annotations(world, "app"))
        (claim,) = claims(world)
        assert claim["metadata"]["ownerReferences"][0]["name"] == "app"
        adopt(world, "app", claim)
        report(world, claim, ready=False)
        report(world, claim, ready=True)
        await world.until(lambda: STATUS_ANNOTATION in annotations(world, "app"))
        assert len(claims(world)) == 1


async def test_the_networks_are_mirrored_behind_those_of_multus() -> None:
    """In the form that Multus writes; a network that is not attached yet keeps it from being."""
    async with controlled("team") as world:
        opt_in(world, "team")
        definition(world, "media-net")
        annotated_pod(world, "app", "media-net", **{STATUS_ANNOTATION: json.dumps([DEFAULT_ENTRY])})
        await world.until(lambda: bool(claims(world)))
        (claim,) = claims(world)
        adopt(world, "app", claim)
        report(world, claim, ready=True)
        await world.until(lambda: len(mirrored(world, "app")) > 1)
        assert mirrored(world, "app") == [
            DEFAULT_ENTRY,
            {
                "name": "team/media-net",
                "interface": "net1",
                "ips": ["10.10.1.2", "fd00::2"],
                "mac": "02:00:00:00:00:01",
                "default": False,
                "dns": {"nameservers": ["10.10.1.1"]},
                "mtu": 9000,
                "gateway": ["fd00::1"],
                "device-info": {
                    "type": "pci",
                    "version": "1.1.0",
                    "pci": {"pci-address": "0000:3b:00.1"},
                },
            },
        ]
        overwrite(world, "app", {STATUS_ANNOTATION: json.dumps([DEFAULT_ENTRY])})
        await world.until(lambda: len(mirrored(world, "app")) > 1)


async def test_a_pod_waits_for_its_network_and_says_so_once() -> None:
    """It gets the claim as soon as the network is there."""
    async with controlled("team") as world:
        opt_in(world, "team")
        annotated_pod(world, "app", "media-net")
        await world.until(lambda: bool(notes(world)))
        (note,) = notes(world)
        assert "team/media-net: there is no NetworkAttachmentDefinition of this name" in note
        definition(world, "other")
        definition(world, "media-net")
        await world.until(lambda: bool(claims(world)))
        assert len(notes(world)) == 1


async def test_a_pod_may_name_no_network() -> None:
    """The annotation of an empty list is a claim of nothing, with which the pod starts."""
    async with controlled("team") as world:
        opt_in(world, "team")
        annotated_pod(world, "app", "[]")
        await world.until(lambda: bool(claims(world)))
        adopt(world, "app", claims(world)[0])
        await world.until(lambda: annotations(world, "app").get(STATUS_ANNOTATION) == "[]")


async def test_a_label_alone_asks_for_nothing() -> None:
    """Anybody may write it; a pod without the claim that admission adds gets none."""
    async with controlled("team") as world:
        opt_in(world, "team")
        definition(world, "media-net")
        spec = {"containers": [{"name": "c", "image": "i"}]}
        world.create(POD, "bare", "team", labels={LABEL: "true"}, spec=spec)
        annotated_pod(world, "app", "media-net")
        await world.until(lambda: NUDGED in annotations(world, "app"))
        assert [each["metadata"]["ownerReferences"][0]["name"] for each in claims(world)] == ["app"]


async def test_a_namespace_without_the_label_gets_no_claims() -> None:
    """A tenant who writes what admission would have written does not get them either."""
    async with controlled("team", "other") as world:
        opt_in(world, "team")
        for namespace in ("team", "other"):
            definition(world, "media-net", namespace)
            annotated_pod(world, "app", "media-net", namespace)
        await world.until(lambda: bool(claims(world)) and bool(notes(world)))
        assert [each["metadata"]["namespace"] for each in claims(world)] == ["team"]
        assert "no label cni.networking.x-k8s.io/annotated-pods=claims" in notes(world)[0]


async def test_pods_of_a_time_without_controller_get_their_claims() -> None:
    """Those that have ended meanwhile do not."""

    def earlier(world: World) -> None:
        opt_in(world, "team")
        definition(world, "media-net")
        for name in ("app", "ended"):
            annotated_pod(world, name, "media-net")
        change_status(world, "ended", phase="Succeeded")

    async with controlled("team", earlier=earlier) as world:
        await world.until(lambda: NUDGED in annotations(world, "app"))
        (claim,) = claims(world)
        assert claim["metadata"]["ownerReferences"][0]["name"] == "app"


async def test_trusted_networks_become_pod_networks() -> None:
    """They follow the definition; those of other namespaces, or of an admin, are left alone."""
    async with controlled("nets", "team", network_namespaces=frozenset({"nets"})) as world:
        world.network("nets-admins")
        for name in ("media-net", "admins"):
            definition(world, name, "nets")
        definition(world, "own", "team")
        await world.until(lambda: "nets-media-net" in networks(world) and bool(notes(world)))
        assert networks(world).keys() == {"nets-media-net", "nets-admins"}
        made = networks(world)["nets-media-net"]
        assert made["parent"] == {"name": "eth1"}
        assert made["namespaces"] == {"matchLabels": {NAMESPACE_LABEL: NAMESPACE_VALUE}}
        assert "the PodNetwork nets-admins is of an admin" in notes(world)[0]
        rewrite(world, "media-net", {**CONFIG, "master": "eth2"})
        await world.until(lambda: networks(world)["nets-media-net"]["parent"] == {"name": "eth2"})
        rewrite(world, "media-net", {"type": "sriov"})
        await world.until(lambda: len(notes(world)) == 2)
        assert networks(world)["nets-media-net"]["parent"] == {"name": "eth2"}
        world.verbs.delete(DEFINITION, "media-net", "nets")
        await world.until(lambda: networks(world).keys() == {"nets-admins"})


async def test_a_used_network_is_switched_off_until_it_is_written_again() -> None:
    """A definition that is replaced does not keep new pods waiting for the end of the old ones."""
    async with controlled("nets", "team", network_namespaces=frozenset({"nets"})) as world:
        definition(world, "media-net", "nets")
        await world.until(lambda: "nets-media-net" in world.classes())
        world.claim("used", "nets-media-net", pod=world.pod("app"), ready=True)

        def in_use() -> bool:
            conditions = world.status("nets-media-net").get("conditions", ())
            return any((one["type"], one["status"]) == ("InUse", "True") for one in conditions)

        await world.until(in_use)
        world.verbs.delete(DEFINITION, "media-net", "nets")
        await world.until(lambda: networks(world)["nets-media-net"].get("enabled") is False)
        definition(world, "media-net", "nets")
        await world.until(lambda: networks(world)["nets-media-net"].get("enabled", True))


async def test_a_claim_that_somebody_else_made_in_a_pods_name_is_said_once() -> None:
    """The name can be foreseen. The pod is left alone until that claim is gone."""
    async with controlled("team") as world:
        definition(world, "media-net")
        annotated_pod(world, "app", "media-net")
        await world.until(lambda: bool(notes(world)))  # the namespace has no label yet
        name = f"app-networks-{world.verbs.get(POD, 'app', 'team')['metadata']['uid'][:8]}"
        world.create(CLAIM, name, "team", spec={"devices": {"requests": []}})
        opt_in(world, "team")
        await world.until(lambda: len(notes(world)) == 2)
        assert any(f"its claim {name} is somebody else's" in note for note in notes(world))
        definition(world, "other")  # after which it is looked at again
        annotated_pod(world, "next", "media-net")
        await world.until(lambda: NUDGED in annotations(world, "next"))
        assert NUDGED not in annotations(world, "app")
        world.verbs.delete(CLAIM, name, "team")
        await world.until(lambda: NUDGED in annotations(world, "app"))
        assert len(notes(world)) == 2


async def test_namespaces_take_turns() -> None:
    """One with hundreds of pods waits for itself."""

    def earlier(world: World) -> None:
        for namespace, count in (("team", 200), ("zone", 1)):
            opt_in(world, namespace)
            definition(world, "media-net", namespace)
            for index in range(count):
                annotated_pod(world, f"app-{index}", "media-net", namespace)

    async with controlled("team", "zone", earlier=earlier) as world:
        await world.until(lambda: len(claims(world)) == 201)
        made = sorted(claims(world), key=lambda each: int(each["metadata"]["resourceVersion"]))
        namespaces = [each["metadata"]["namespace"] for each in made]
        assert namespaces.index("zone") < 100


class Denying(Verbs):
    """A server whose webhook denies one of the networks."""

    def create(self, kind: Kind, body: JsonObject, **options: Any) -> JsonObject:
        """Create an object, or refuse it."""
        if kind is POD_NETWORK and body["metadata"]["name"] == "nets-denied":
            raise RefusedError(403, "Forbidden", "denied by a webhook")
        return super().create(kind, body, **options)


async def test_a_network_that_is_denied_stops_none_of_those_after_it() -> None:
    """They are made, changed and taken away, and an event names the one that was denied."""
    trusted = frozenset({"nets"})
    async with controlled("nets", network_namespaces=trusted, server=Denying) as world:
        for name in ("denied", "media-net"):
            definition(world, name, "nets")
        await world.until(lambda: "nets-media-net" in networks(world) and bool(notes(world)))
        assert "denied by a webhook" in notes(world)[0]
        world.verbs.delete(DEFINITION, "media-net", "nets")
        await world.until(lambda: not networks(world))


def opt_in(world: World, namespace: str) -> None:
    """Let the annotations of a namespace's pods become claims."""
    world.label(namespace, **{NAMESPACE_LABEL: NAMESPACE_VALUE})


def definition(world: World, name: str, namespace: str = "team") -> None:
    """A NetworkAttachmentDefinition."""
    world.create(DEFINITION, name, namespace, spec={"config": json.dumps(CONFIG)})


def rewrite(world: World, name: str, config: JsonObject) -> None:
    """Change one."""
    world.change(DEFINITION, name, "nets", spec={"config": json.dumps(config)})


def annotated_pod(
    world: World, name: str, text: str, namespace: str = "team", **annotations: str
) -> None:
    """A pod as admission leaves it."""
    claim = {"name": POD_CLAIM, "resourceClaimTemplateName": TEMPLATE}
    spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": [claim]}
    world.create(
        POD,
        name,
        namespace,
        labels={LABEL: "true"},
        annotations={ANNOTATION: text, **annotations},
        spec=spec,
    )


def change_status(world: World, name: str, **fields: Any) -> None:
    """Change the status of a pod."""
    live = world.verbs.get(POD, name, "team")
    status = {**live.get("status", {}), **fields}
    world.verbs.update(POD, {**live, "status": status}, manager="test", subresource="status")


def adopt(world: World, name: str, claim: JsonObject) -> None:
    """What Kubernetes' own controller does with a claim that it finds."""
    named = {"name": POD_CLAIM, "resourceClaimName": claim["metadata"]["name"]}
    change_status(world, name, resourceClaimStatuses=[named])


def report(world: World, claim: JsonObject, *, ready: bool) -> None:
    """What the scheduler and the driver make of it."""
    live = world.verbs.get(CLAIM, claim["metadata"]["name"], "team")
    device = {"driver": DRIVER, "pool": "node-a", "device": "eth1"}
    condition = {
        "type": "Ready",
        "status": "True" if ready else "False",
        "reason": "Test",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    told: JsonObject = {**device, "conditions": [condition]}
    if ready:
        told["data"] = {
            "dns": {"nameservers": ["10.10.1.1"]},
            "interfaces": [],
            "mtu": 9000,
            "pciAddress": "0000:3b:00.1",
            "routes": [
                {"dst": "192.0.2.0/24", "gw": "10.10.1.9"},
                {"dst": "::/0", "gw": "fd00::1"},
            ],
        }
        told["networkData"] = {
            "interfaceName": "net1",
            "hardwareAddress": "02:00:00:00:00:01",
            "ips": ["10.10.1.2/24", "fd00::2/64"],
        }
    status = {
        "allocation": {"devices": {"results": [{"request": "net-1", **device}]}},
        "devices": [told],
    }
    world.verbs.update(CLAIM, {**live, "status": status}, manager="test", subresource="status")


def claims(world: World) -> list[JsonObject]:
    """All claims."""
    return list(world.store.list(CLAIM))


def overwrite(world: World, name: str, values: dict[str, str]) -> None:
    """Change annotations of a pod, as Multus does."""
    live = world.verbs.get(POD, name, "team")
    meta = live["metadata"]
    meta = {**meta, "annotations": {**meta["annotations"], **values}}
    world.verbs.update(POD, {**live, "metadata": meta}, manager="multus")


def annotations(world: World, name: str) -> dict[str, str]:
    """The annotations of a pod."""
    found: dict[str, str] = world.verbs.get(POD, name, "team")["metadata"]["annotations"]
    return found


def mirrored(world: World, name: str) -> list[JsonObject]:
    """What a pod's annotation says of its networks."""
    found: list[JsonObject] = json.loads(annotations(world, name).get(STATUS_ANNOTATION, "[]"))
    return found


def networks(world: World) -> dict[str, JsonObject]:
    """The specs of all PodNetworks, by name."""
    return {each["metadata"]["name"]: each["spec"] for each in world.store.list(POD_NETWORK)}


def notes(world: World) -> list[str]:
    """What events say."""
    return [each["note"] for each in world.store.list(EVENT)]
