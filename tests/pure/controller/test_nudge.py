"""A pod that waits for its claim is looked at again when the cause may be gone."""

from netclaim.controller.nudge import ANNOTATION
from netclaim.schema.kinds import POD, SLICE
from tests.support.controller_parts import World, controlled


def nudged(world: World, pod: str) -> bool:
    """Whether a pod has the annotation."""
    return ANNOTATION in world.verbs.get(POD, pod, "default")["metadata"].get("annotations", {})


async def test_a_label_of_the_namespace_wakes_its_pods() -> None:
    """But not those that have what they asked for."""
    async with controlled() as world:
        world.claim("waits", "any", pod=world.pod("waits"), ready=False)
        world.claim("works", "any", pod=world.pod("works"), ready=True)
        world.network()
        await world.until(lambda: bool(world.ready()))
        world.label("default", level="privileged")
        await world.until(lambda: nudged(world, "waits"))
        assert not nudged(world, "works")


async def test_a_link_that_is_back_wakes_the_pods_of_its_node() -> None:
    """The slice of the node changes."""
    async with controlled() as world:
        world.node("node-a", "eth0")
        world.claim("waits", "any", pod=world.pod("waits"), ready=False)
        world.network()
        await world.until(lambda: bool(world.ready()))
        live = world.verbs.get(SLICE, "node-a-slice")
        spec = {**live["spec"], "pool": {**live["spec"]["pool"], "generation": 2}}
        world.change(SLICE, "node-a-slice", spec=spec)
        await world.until(lambda: nudged(world, "waits"))
