"""An admin's annotated template is copied into the namespaces that it names."""

from functools import partial
from typing import Any

from netclaim.controller.cluster.slim import COPY_OF, COPY_TO
from netclaim.schema.kinds import TEMPLATE
from tests.support.controller_parts import Bounded, Closed, World, controlled

GPU = {"spec": {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu"}}]}}}


def original(world: World, namespace: str = "admin", to: str = "team=media") -> None:
    """Add a template that is to be copied."""
    world.create(TEMPLATE, "gpu", namespace, annotations={COPY_TO: to}, spec=GPU)


async def test_a_template_is_copied_by_the_labels_of_namespaces() -> None:
    """Copies come and go with the label."""
    async with controlled("admin", "a", "b", template_namespace="admin") as world:
        world.label("a", team="media")
        original(world)
        await world.until(lambda: world.templates("gpu") == {"admin", "a"})
        copy = world.verbs.get(TEMPLATE, "gpu", "a")
        assert copy["metadata"]["annotations"][COPY_OF] == "admin/gpu"
        assert COPY_TO not in copy["metadata"]["annotations"]
        world.label("b", team="media")
        await world.until(lambda: world.templates("gpu") == {"admin", "a", "b"})
        world.label("a")
        await world.until(lambda: world.templates("gpu") == {"admin", "b"})
        world.verbs.delete(TEMPLATE, "gpu", "admin")
        await world.until(lambda: world.templates("gpu") == set())


async def test_a_tenants_annotation_copies_nothing() -> None:
    """Otherwise, a user who can write templates in one namespace could write them in all."""
    async with controlled("admin", "a", "b", template_namespace="admin") as world:
        original(world, "a", to="")
        world.network()  # when its template is everywhere, everything was looked at
        await world.until(lambda: world.templates() == {"default", "admin", "a", "b"})
        assert world.templates("gpu") == {"a"}


async def test_a_template_of_the_same_name_is_left_alone() -> None:
    """It is somebody's own."""
    async with controlled("admin", "a", "b", template_namespace="admin") as world:
        own: dict[str, Any] = {"spec": {"devices": {"requests": []}}}
        world.create(TEMPLATE, "gpu", "a", spec=own)
        original(world, to="")
        await world.until(lambda: world.templates("gpu") == {"admin", "a", "b", "default"})
        assert world.verbs.get(TEMPLATE, "gpu", "a")["spec"] == own


async def test_a_namespace_that_refuses_its_copy_keeps_none_from_others() -> None:
    """Whatever the order of their names."""
    namespaces = ("admin", "a", "closed", "z")
    async with controlled(*namespaces, template_namespace="admin", server=Closed) as world:
        original(world, to="")
        await world.until(lambda: world.templates("gpu") == {"admin", "a", "default", "z"})


async def test_a_tenants_template_that_says_it_is_a_copy_is_left_alone() -> None:
    """Of an original of another name or namespace it can be none; nothing is tried."""
    async with controlled("admin", "a", "b", template_namespace="admin", server=Bounded) as world:
        for index, of in enumerate(("a/b", "admin/other", "admin", "")):
            world.create(TEMPLATE, f"mine-{index}", "a", annotations={COPY_OF: of}, spec=GPU)
        world.label("a", team="media")
        original(world)
        await world.until(lambda: world.templates("gpu") == {"admin", "a"})
        world.verbs.delete(TEMPLATE, "gpu", "admin")
        await world.until(lambda: world.templates("gpu") == set())
        assert all(world.templates(f"mine-{index}") == {"a"} for index in range(4))
        assert isinstance(world.verbs, Bounded)
        assert world.verbs.denied == []


async def test_changed_labels_of_an_original_reach_its_copies() -> None:
    """A label that is gone from it, too; what somebody adds to a copy does not matter."""
    async with controlled("admin", "a", template_namespace="admin") as world:
        world.label("a", team="media")
        original(world)
        await world.until(lambda: world.templates("gpu") == {"admin", "a"})

        def labels() -> Any:
            found = world.store.get(TEMPLATE, "gpu", "a")
            return found["metadata"].get("labels", {}) if found is not None else None

        for wanted in ({"tier": "gold", "size": "l"}, {"tier": "gold"}):
            live = world.verbs.get(TEMPLATE, "gpu", "admin")
            meta = {**live["metadata"], "labels": wanted}
            world.change(TEMPLATE, "gpu", "admin", metadata=meta)
            await world.until(partial(lambda it: labels() == it, wanted))
