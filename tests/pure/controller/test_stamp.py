"""An admin's annotated template is copied into the namespaces that it names."""

from typing import Any

from netclaim.controller.watches import COPY_OF, COPY_TO
from netclaim.schema.kinds import TEMPLATE
from tests.support.controller_parts import Closed, World, controlled

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
        assert copy["metadata"]["annotations"] == {COPY_OF: "admin/gpu"}
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
