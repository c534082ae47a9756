"""From a PodNetwork, its class and templates are made, kept, and taken away."""

from functools import partial
from typing import Any

import pytest

from netclaim.controller.networks.objects import FINALIZER
from netclaim.controller.networks.wanted import Uses
from netclaim.local.api import Verbs
from netclaim.model.api.dra.claim import ResourceClaim
from netclaim.model.claims.claim import JsonObject
from netclaim.network.pod_network import LABEL
from netclaim.schema.kinds import ADDRESS_POOL, CLAIM, CLASS, NAMESPACE, POD_NETWORK, TEMPLATE, Kind
from netclaim.schema.refusal import RefusedError
from tests.support.controller_parts import DRIVER, SPEC, Bounded, Closed, Held, controlled


class Forgetful(Verbs):
    """A server that does not know what a request may ask for of a device's capacity."""

    def create(self, kind: Kind, body: JsonObject, **options: Any) -> JsonObject:
        """Create an object without it."""
        if kind is TEMPLATE:
            for request in body["spec"]["spec"]["devices"]["requests"]:
                request["exactly"].pop("capacity", None)
        return super().create(kind, body, **options)

    def update(self, kind: Kind, body: JsonObject, **options: Any) -> JsonObject:
        """Replace an object; of a class, only one selector is kept."""
        if kind is CLASS:
            body["spec"]["selectors"] = body["spec"]["selectors"][:1]
        return super().update(kind, body, **options)


async def test_a_network_gets_a_class_and_templates() -> None:
    """In every namespace that may use it, and only there."""
    async with controlled("media-1", "other") as world:
        world.label("media-1", team="media")
        world.network(namespaces={"matchLabels": {"team": "media"}}, allow=["ips"])
        await world.until(lambda: world.templates() == {"media-1"})
        found = world.store.get(CLASS, "media-net")
        assert found is not None
        parameters = found["spec"]["config"][0]["opaque"]["parameters"]
        assert parameters["allow"] == ["ips"]
        assert parameters["namespaces"] == {"matchLabels": {"team": "media"}}
        await world.until(lambda: world.status().get("namespaces") == 1)


async def test_parameters_are_written_in_the_order_of_their_keys() -> None:
    """A driver's report would otherwise be refused as a change of the claim's allocation."""
    async with controlled() as world:
        world.network(ipam={"type": "host-local", "subnet": "10.1.0.0/24"})
        await world.until(lambda: "media-net" in world.classes())
        found = world.verbs.get(CLASS, "media-net")["spec"]["config"][0]["opaque"]["parameters"]
        assert list(found) == sorted(found)
        (plugin,) = found["config"]["plugins"]
        assert list(plugin["ipam"]) == ["subnet", "type"]


async def test_permission_comes_and_goes_with_a_label() -> None:
    """Also for namespaces that are created later."""
    async with controlled("other") as world:
        world.network(namespaces={"matchLabels": {"team": "media"}})
        await world.until(lambda: bool(world.ready()))
        assert world.templates() == set()
        world.label("other", team="media")
        await world.until(lambda: world.templates() == {"other"})
        world.label("other")
        await world.until(lambda: world.templates() == set())


async def test_an_edited_network_changes_its_objects() -> None:
    """A template cannot be changed, and is made again."""
    async with controlled() as world:
        world.network()
        await world.until(lambda: world.templates() == {"default"})

        def bandwidth() -> Any:
            found = world.store.get(TEMPLATE, "media-net", "default")
            if found is None:
                return None
            (request,) = found["spec"]["spec"]["devices"]["requests"]
            return request["exactly"].get("capacity", {}).get("requests", {}).get("bandwidth")

        world.change(POD_NETWORK, "media-net", spec={**SPEC, "sharing": {"bandwidth": "1000M"}})
        await world.until(lambda: bandwidth() == "1G")
        world.change(POD_NETWORK, "media-net", spec={**SPEC, "parent": {"name": "eth2"}})

        def expression() -> str:
            found = world.store.get(CLASS, "media-net")
            return str(found["spec"]["selectors"]) if found is not None else ""

        await world.until(lambda: "eth2" in expression())


async def test_what_is_tampered_with_is_put_right() -> None:
    """The network's word counts."""
    async with controlled() as world:
        world.network()
        await world.until(lambda: "media-net" in world.classes())
        world.change(CLASS, "media-net", spec={"selectors": []})
        await world.until(lambda: bool(world.verbs.get(CLASS, "media-net")["spec"]["selectors"]))
        world.verbs.delete(TEMPLATE, "media-net", "default")
        await world.until(lambda: world.templates() == {"default"})


async def test_objects_of_others_are_left_alone() -> None:
    """A class of the network's name that somebody wrote stays as it is; the status says so."""
    async with controlled() as world:
        world.create(CLASS, "media-net", spec={"selectors": [{"cel": {"expression": "true"}}]})
        world.network()
        await world.until(lambda: world.ready().get("reason") == "NameTaken")
        found = world.verbs.get(CLASS, "media-net")
        assert found["spec"]["selectors"] == [{"cel": {"expression": "true"}}]
        assert world.templates() == set()


async def test_a_users_template_of_the_name_is_left_alone() -> None:
    """The other namespaces have the network nevertheless, so that nobody can declare it broken."""
    async with controlled("other") as world:
        own: dict[str, Any] = {"spec": {"devices": {"requests": []}}}
        world.create(TEMPLATE, "media-net", "other", spec=own)
        world.node("node-a", "eth1")
        world.network()
        await world.until(lambda: "other/media-net" in world.ready().get("message", ""))
        assert world.ready()["status"] == "True"
        assert world.verbs.get(TEMPLATE, "media-net", "other")["spec"] == own
        assert "default" in world.templates()


async def test_a_network_stays_while_it_is_used() -> None:
    """Deleted, it can no longer be asked for, and is gone when the last claim is."""
    async with controlled() as world:
        world.node("node-a", "eth1")
        world.network()
        await world.until(lambda: world.ready().get("status") == "True")
        world.claim("c", "media-net", pod=world.pod("p"), ready=True)
        await world.until(lambda: world.status().get("pods") == 1)
        assert world.status()["users"] == ["default/p"]
        assert world.status()["interfaces"] == 1
        world.verbs.delete(POD_NETWORK, "media-net")
        await world.until(lambda: world.ready().get("reason") == "Deleted")
        assert world.templates() == set()
        assert world.classes() == set()
        found = world.verbs.get(POD_NETWORK, "media-net")
        assert FINALIZER in found["metadata"]["finalizers"]
        world.verbs.delete(CLAIM, "c", "default")
        await world.until(lambda: world.store.get(POD_NETWORK, "media-net") is None)


async def test_a_network_that_is_switched_off_is_not_offered() -> None:
    """And is offered again when it is on."""
    async with controlled() as world:
        world.network()
        await world.until(lambda: world.templates() == {"default"})
        world.change(POD_NETWORK, "media-net", spec={**SPEC, "enabled": False})
        await world.until(lambda: world.ready().get("reason") == "Disabled")
        assert world.classes() == set()
        world.change(POD_NETWORK, "media-net", spec=SPEC)
        await world.until(lambda: world.templates() == {"default"})


async def test_the_status_says_where_a_network_is() -> None:
    """And why it is not elsewhere."""
    async with controlled() as world:
        world.node("node-a", "eth0", "eth1")
        world.node("node-b", "eth0")
        world.node("node-c")
        world.network()
        await world.until(lambda: world.status().get("nodesAvailable") == 1)
        nodes = {each["name"]: each.get("message", "") for each in world.status()["nodes"]}
        assert nodes == {
            "node-a": "",
            "node-b": "no link eth1 is offered there",
            "node-c": "netclaim's driver has published no link there",
        }
        assert world.ready()["message"] == "1 of 3 nodes have it"


async def test_a_network_that_no_node_has_is_not_ready() -> None:
    """One line says why."""
    async with controlled() as world:
        world.node("node-b", "eth0")
        world.network()
        await world.until(lambda: world.ready().get("reason") == "NoNode")
        assert world.ready()["message"] == ("no node has it; node-b: no link eth1 is offered there")


async def test_a_network_without_its_pool_is_not_ready() -> None:
    """No pod can use it, until somebody makes the pool."""
    async with controlled() as world:
        world.node("node-a", "eth1")
        world.network(ipam={"type": "netclaim", "pool": "media"})
        await world.until(lambda: world.ready().get("reason") == "NoPool")
        assert 'no AddressPool "media"' in world.ready()["message"]
        world.create(ADDRESS_POOL, "media", spec={"ranges": [{"cidr": "10.1.0.0/29"}]})
        await world.until(lambda: world.ready().get("status") == "True")
        world.verbs.delete(ADDRESS_POOL, "media")
        await world.until(lambda: world.ready().get("reason") == "NoPool")


async def test_a_configuration_that_the_driver_would_refuse_is_reported() -> None:
    """Before any pod asks for it."""
    async with controlled() as world:
        world.network(ipam={"type": "host-local", "subnet": "10.1.0.0/99"})
        await world.until(lambda: world.ready().get("reason") == "Invalid")
        assert "10.1.0.0/99" in world.ready()["message"]
        assert world.classes() == set()


async def test_a_network_of_another_provider_is_left_alone() -> None:
    """It has no status of ours, and no objects."""
    async with controlled() as world:
        world.create(POD_NETWORK, "theirs", spec={"provider": "myprovider.io/application"})
        world.network()
        await world.until(lambda: world.templates() == {"default"})
        assert world.status("theirs") == {}
        assert world.templates("theirs") == set()


@pytest.mark.parametrize("edited", [False, True])
async def test_a_server_that_keeps_less_is_not_asked_for_ever(edited: bool) -> None:
    """What it leaves out is not written again and again."""
    async with controlled("other", server=Forgetful) as world:
        world.node("node-a", "eth1")
        world.network(sharing={"bandwidth": "1G"})
        await world.until(lambda: world.ready().get("status") == "True")
        if edited:
            spec = {**SPEC, "parent": {"name": "eth2"}, "sharing": {"bandwidth": "1G"}}
            world.change(POD_NETWORK, "media-net", spec=spec)
            await world.until(lambda: world.ready().get("reason") == "NoNode")
        kept = {
            (kind, found["metadata"]["uid"], found["metadata"]["resourceVersion"])
            for kind in (TEMPLATE, CLASS)
            for found in world.store.list(kind)
        }
        for later in ("l1", "l2", "l3", "l4"):  # each of which the controller looks at
            world.create(NAMESPACE, later)
            await world.until(partial(lambda name: name in world.templates(), later))
        for kind, uid, version in kept:
            assert any(
                (found["metadata"]["uid"], found["metadata"]["resourceVersion"]) == (uid, version)
                for found in world.store.list(kind)
            )


async def test_a_namespace_that_refuses_keeps_nothing_from_others() -> None:
    """They have their templates, and the status names the one that has not."""
    async with controlled("closed", "open", server=Closed) as world:
        world.node("node-a", "eth1")
        world.network()
        await world.until(lambda: "exceeded quota" in world.ready().get("message", ""))
        assert "namespace closed" in world.ready()["message"]
        assert world.ready()["status"] == "True"
        assert world.templates() == {"default", "open"}
        assert world.status()["namespaces"] == 2


async def test_a_network_that_was_given_to_another_provider_can_be_deleted() -> None:
    """The finalizer goes with the objects."""
    async with controlled() as world:
        world.network()
        await world.until(lambda: world.templates() == {"default"})
        world.change(POD_NETWORK, "media-net", spec={**SPEC, "provider": "other.io/x"})
        await world.until(lambda: world.templates() == set())
        world.verbs.delete(POD_NETWORK, "media-net")
        await world.until(lambda: world.store.get(POD_NETWORK, "media-net") is None)


async def test_a_users_template_with_the_label_stays() -> None:
    """A label alone does not make a template the network's."""
    async with controlled("other") as world:
        world.label("default", team="media")
        own: dict[str, Any] = {"spec": {"devices": {"requests": []}}}
        labels = {LABEL: "media-net"}
        world.create(TEMPLATE, "mine", "other", labels=labels, spec=own)
        world.create(TEMPLATE, "media-net", "other", labels=labels, spec=own)
        world.network(namespaces={"matchLabels": {"team": "media"}})
        await world.until(lambda: bool(world.ready()) and world.templates() >= {"default"})
        world.verbs.delete(POD_NETWORK, "media-net")
        await world.until(lambda: world.store.get(POD_NETWORK, "media-net") is None)
        assert world.templates("mine") == {"other"}
        assert world.templates() == {"other"}


async def test_a_namespace_that_ends_gets_no_template() -> None:
    """It would refuse it."""
    async with controlled("ending") as world:
        live = world.verbs.get(NAMESPACE, "ending")
        meta = {**live["metadata"], "finalizers": ["example.com/stays"]}
        world.verbs.update(NAMESPACE, {**live, "metadata": meta}, manager="test")
        world.verbs.delete(NAMESPACE, "ending")
        world.network()
        await world.until(lambda: bool(world.ready()))
        assert world.templates() == {"default"}


async def test_a_claim_that_got_another_alternative_uses_no_network() -> None:
    """A network that was only its second choice can be deleted."""
    async with controlled() as world:
        world.network()
        await world.until(lambda: world.templates() == {"default"})
        alternatives = [
            {"name": "first", "deviceClassName": "other"},
            {"name": "second", "deviceClassName": "media-net"},
        ]
        request = {"name": "nic", "firstAvailable": alternatives}
        for chosen, is_used in (("first", False), ("second", True)):
            made = world.create(CLAIM, chosen, "default", spec={"devices": {"requests": [request]}})
            device = {"driver": DRIVER, "pool": "node-a", "device": "eth1"}
            results = [{"request": f"nic/{chosen}", **device}]
            status = {"allocation": {"devices": {"results": results}}}
            world.verbs.update(CLAIM, {**made, "status": status}, manager="t", subresource="status")
            uses = Uses("media-net", DRIVER)
            uses.add(ResourceClaim.read(world.verbs.get(CLAIM, chosen, "default")))
            assert bool(uses.use().claims) == is_used


async def test_a_claim_that_names_only_the_network_keeps_it() -> None:
    """Until it gives its device back, which the scheduler does before the claim goes."""
    async with controlled() as world:
        world.network()
        await world.until(lambda: world.templates() == {"default"})
        request = {"name": "nic", "exactly": {"deviceClassName": "empty"}}
        made = world.create(CLAIM, "c", "default", spec={"devices": {"requests": [request]}})
        device = {"driver": DRIVER, "pool": "node-a", "device": "media-net-on-eth1"}
        status = {"allocation": {"devices": {"results": [{"request": "nic", **device}]}}}
        world.verbs.update(CLAIM, {**made, "status": status}, manager="t", subresource="status")
        await world.until(lambda: in_use(world.verbs.get(POD_NETWORK, "media-net")) == "True")
        world.verbs.delete(POD_NETWORK, "media-net")
        await world.until(lambda: world.templates() == set())
        assert FINALIZER in world.verbs.get(POD_NETWORK, "media-net")["metadata"]["finalizers"]
        live = world.verbs.get(CLAIM, "c", "default")
        world.verbs.update(CLAIM, {**live, "status": {}}, manager="t", subresource="status")
        await world.until(lambda: world.store.get(POD_NETWORK, "media-net") is None)


def in_use(found: Any) -> str:
    """The condition InUse of a network."""
    conditions = found.get("status", {}).get("conditions", [])
    return next((str(each["status"]) for each in conditions if each["type"] == "InUse"), "")


class Unreported(Verbs):
    """A server on which no network's status can be written."""

    def replace(
        self,
        kind: Kind,
        body: JsonObject,
        old: JsonObject,
        *,
        manager: str,
        subresource: str = "",
    ) -> JsonObject:
        """Replace an object, or refuse it."""
        if kind is POD_NETWORK and subresource == "status":
            raise RefusedError(500, "InternalError", "no space left")
        return super().replace(kind, body, old, manager=manager, subresource=subresource)


async def test_templates_do_not_wait_for_a_status() -> None:
    """A new namespace gets those of all networks while no status can be written."""
    async with controlled(server=Unreported) as world:
        for name in ("a-net", "b-net"):
            world.network(name)
        world.create(NAMESPACE, "new")
        await world.until(lambda: world.templates("a-net") == {"default", "new"})
        await world.until(lambda: world.templates("b-net") == {"default", "new"})
        world.verbs.delete(TEMPLATE, "b-net", "new")
        await world.until(lambda: world.templates("b-net") == {"default", "new"})
        assert world.status("a-net") == {}


async def test_a_namespace_that_comes_later_and_refuses_is_named() -> None:
    """Like one that was there before."""
    async with controlled(server=Closed) as world:
        world.node("node-a", "eth1")
        world.network()
        await world.until(lambda: world.ready().get("status") == "True")
        world.create(NAMESPACE, "closed")
        await world.until(lambda: "namespace closed" in world.ready()["message"])
        assert world.templates() == {"default"}


async def test_a_status_of_somebody_else_is_put_right() -> None:
    """What the status says does not depend on who may write it."""
    async with controlled() as world:
        world.node("node-a", "eth1")
        world.network()
        await world.until(lambda: world.status().get("namespaces") == 1)
        live = world.verbs.get(POD_NETWORK, "media-net")
        wrong = {**live["status"], "namespaces": 7}
        world.verbs.set_status(POD_NETWORK, live, wrong, manager="somebody")
        await world.until(lambda: world.status().get("namespaces") == 1)


async def test_a_template_that_names_another_network_as_owner_stays_and_holds_nothing() -> None:
    """It has this network's name and label; the admission policy lets nobody here delete it."""
    async with controlled("other", server=Bounded) as world:
        world.label("default", team="media")
        world.network("b-net", namespaces={"matchLabels": {"team": "none"}})
        owner = {
            "apiVersion": "cni.networking.x-k8s.io/v1alpha1",
            "kind": "PodNetwork",
            "name": "b-net",
            "uid": world.verbs.get(POD_NETWORK, "b-net")["metadata"]["uid"],
        }
        own: dict[str, Any] = {"spec": {"devices": {"requests": []}}}
        labels = {LABEL: "media-net"}
        world.create(
            TEMPLATE, "media-net", "other", labels=labels, ownerReferences=[owner], spec=own
        )
        world.network(namespaces={"matchLabels": {"team": "media"}})
        await world.until(lambda: bool(world.ready()) and world.templates() >= {"default"})
        world.verbs.delete(POD_NETWORK, "media-net")
        await world.until(lambda: world.store.get(POD_NETWORK, "media-net") is None)
        assert world.templates() == {"other"}


async def test_a_template_that_cannot_be_deleted_does_not_keep_its_network() -> None:
    """The status says so while the network is used; its class is gone, so nobody gets a device."""
    async with controlled(server=Held) as world:
        world.node("node-a", "eth1")
        world.network()
        await world.until(lambda: world.ready().get("status") == "True")
        world.claim("c", "media-net", pod=world.pod("p"), ready=True)
        await world.until(lambda: world.status().get("pods") == 1)
        world.verbs.delete(POD_NETWORK, "media-net")
        await world.until(lambda: "held by a webhook" in world.ready().get("message", ""))
        assert world.ready()["reason"] == "Deleted"
        assert world.classes() == set()
        world.verbs.delete(CLAIM, "c", "default")
        await world.until(lambda: world.store.get(POD_NETWORK, "media-net") is None)
