"""What is said of a pod that no node can have: the nearest miss first, and not too much."""

from typing import Any

from netclaim.local.api import Verbs
from netclaim.schema.kinds import CLAIM, CLASS, NODE, POD, SLICE
from tests.pure.local.control.test_control import DRIVER, condition, make, pod_spec, settle
from tests.support.local.parts import new_verbs

NAME = f'device.attributes["{DRIVER}"].name'


def device(name: str, **more: Any) -> dict[str, Any]:
    """A link that one claim can have."""
    return {"name": name, "attributes": {"name": {"string": name}}, **more}


def cluster(*devices: dict[str, Any]) -> Verbs:
    """A node with links, and a class for them."""
    verbs = new_verbs()
    ours = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    make(verbs, CLASS, "c", {"selectors": ours})
    make(verbs, NODE, "one", {})
    pool = {"name": "one", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "one", "pool": pool, "devices": list(devices)}
    make(verbs, SLICE, "s", spec)
    return verbs


def start(verbs: Verbs, name: str, *expressions: str) -> None:
    """Make a pod with a claim of its own."""
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    exactly = {"deviceClassName": "c", "selectors": selectors}
    make(verbs, CLAIM, name, {"devices": {"requests": [{"name": "a", "exactly": exactly}]}})
    make(verbs, POD, name, pod_spec(resourceClaimName=name))
    settle(verbs)


def waits(verbs: Verbs, name: str) -> str:
    """Return why a pod waits."""
    said: str = condition(verbs.get(POD, name, "default"))
    return said


def test_what_is_taken_comes_before_what_is_another() -> None:
    """A link that would do and is taken is the nearest, whatever was published before it."""
    verbs = cluster(device("eth0"), device("eth1"))
    start(verbs, "first", f'{NAME} == "eth1"')
    start(verbs, "second", f'{NAME} == "eth1"')
    assert waits(verbs, "second") == (
        "0/1 nodes are available: request a, taken by claim default/first: one (eth1);"
        f' request a, `{NAME} == "eth1"` is false: one (eth0: "eth0")'
    )


def test_many_obstacles_are_folded() -> None:
    """Three obstacles are said, and the others are counted; those of the nearest device first."""
    conditions = [f'{NAME} != "eth{number}"' for number in range(3)]
    taint = {"key": "example.com/down", "effect": "NoSchedule"}
    devices = [device(f"eth{number}") for number in range(3)]
    verbs = cluster(*devices, device("eth9", taints=[taint]))
    start(verbs, "p", *conditions)
    said = waits(verbs, "p")
    assert said.startswith(
        "0/1 nodes are available: request a, taint example.com/down:NoSchedule is not tolerated:"
        f' one (eth9); request a, `{NAME} != "eth0"` is false: one (eth0: "eth0"); '
    )
    assert said.endswith("; and 1 more obstacle, which `netclaim explain` shows")
