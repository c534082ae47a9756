"""From a PodNetwork, its class and templates are made, kept, and taken away."""

from typing import Any

from netclaim.controller.networks import FINALIZER
from netclaim.schema.kinds import CLAIM, CLASS, POD_NETWORK, TEMPLATE
from tests.support.controller_parts import SPEC, controlled


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
