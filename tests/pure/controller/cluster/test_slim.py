"""The controller's memory does not grow with what tenants write into an object."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from netclaim.controller.annotated.mirror import THERE_MAX
from netclaim.controller.annotated.names import (
    ANNOTATION,
    CLAIM_NETWORKS,
    LABEL,
    POD_CLAIM,
    POD_CLAIM_ANNOTATION,
    STATUS_ANNOTATION,
)
from netclaim.controller.annotated.readings import TEXT_MAX, length_of
from netclaim.controller.cluster.slim import (
    COPY_OF,
    COPY_TO,
    brief_status,
    slim_annotated,
    slim_claim,
    slim_definition,
    slim_lease,
    slim_template,
)
from netclaim.controller.networks.objects import MADE_OF
from netclaim.model.claims.claim import JsonObject
from netclaim.network.pod_network import LABEL as OF_NETWORK
from tests.support.address_pool_cases import lease_of

LONG = "x" * 200_000
SMALL = 4 * 1024  # bytes, of names and identities
MARKS = (ANNOTATION, STATUS_ANNOTATION, CLAIM_NETWORKS, POD_CLAIM_ANNOTATION, COPY_OF, COPY_TO)


def huge(*labels: str, **fields: Any) -> JsonObject:
    """An object whose author wrote as much as fits, wherever we read something."""
    owners = [
        {"apiVersion": "v1", "kind": "PodNetwork", "name": "a", "uid": f"uid-{index}"}
        for index in range(5_000)
    ]
    meta = {
        "name": "a",
        "namespace": "team",
        "uid": "uid-a",
        "resourceVersion": "1",
        "labels": {**dict.fromkeys(labels, "true"), **{f"l{i}": "x" * 60 for i in range(1_000)}},
        "annotations": {"theirs": LONG, MADE_OF: LONG, **dict.fromkeys(MARKS, LONG)},
        "ownerReferences": owners,
        "managedFields": [LONG],
    }
    return {"apiVersion": "v1", "kind": "K", "metadata": meta, **fields}


SELECTORS = [{"cel": {"expression": "x" * 10_000}} for _ in range(32)]
REQUESTS = [
    {"name": "a", "exactly": {"deviceClassName": "c", "selectors": SELECTORS}},
    {
        "name": "b",
        "firstAvailable": [{"name": "s", "deviceClassName": "d", "selectors": SELECTORS}],
    },
]
TOLERATIONS = [{"key": "k", "value": "x" * 63} for _ in range(16)]
RESULTS = [{"request": "a", "driver": "d", "pool": "p", "device": "e", "tolerations": TOLERATIONS}]
CLAIM = {
    "spec": {"devices": {"requests": REQUESTS}},
    "status": {"allocation": {"devices": {"results": RESULTS}}},
}
POD = {"spec": {"resourceClaims": [{"name": POD_CLAIM}], "containers": [{"image": LONG}]}}


@pytest.mark.parametrize(
    ("keep", "found", "most"),
    [
        (slim_claim, huge(**CLAIM), SMALL),
        (slim_claim, huge(LABEL, **CLAIM), SMALL + 16 * 1024),
        (slim_template("admin"), huge(OF_NETWORK, spec={"spec": REQUESTS}), SMALL),
        (slim_annotated, huge(LABEL, **POD), SMALL + TEXT_MAX),
        (slim_definition, huge(spec={"config": LONG, "more": LONG}), SMALL + TEXT_MAX),
        (slim_definition, huge(spec={"config": [LONG] * 4}), SMALL + TEXT_MAX),
    ],
)
def test_what_a_tenant_writes_is_cut(
    keep: Callable[[JsonObject], JsonObject], found: JsonObject, most: int
) -> None:
    """Whatever else an object has, and however long it is."""
    assert len(msgspec.json.encode(keep(found))) <= most


def test_what_is_too_long_to_be_read_stays_too_long() -> None:
    """It is refused as if it were there as a whole."""
    found = slim_definition(huge(spec={"config": LONG}))
    assert length_of(found) > TEXT_MAX
    pod = slim_annotated(huge(LABEL, **POD))
    assert len(pod["metadata"]["annotations"][ANNOTATION]) > TEXT_MAX


def test_a_long_report_is_known_again() -> None:
    """Otherwise it would be written again and again."""
    pod = slim_annotated(huge(LABEL, **POD))
    assert pod["metadata"]["annotations"][STATUS_ANNOTATION] == brief_status(LONG)
    assert brief_status(LONG) != brief_status(LONG + "x")
    assert brief_status("[]") == "[]"
    assert len(brief_status("x" * THERE_MAX)) == THERE_MAX


def test_what_is_read_of_a_claim_stays() -> None:
    """Its classes, also of alternatives, and its devices."""
    found = slim_claim(huge(**CLAIM))
    assert found["spec"]["devices"]["requests"] == [
        {"name": "a", "exactly": {"deviceClassName": "c"}},
        {"name": "b", "firstAvailable": [{"name": "s", "deviceClassName": "d"}]},
    ]
    (result,) = found["status"]["allocation"]["devices"]["results"]
    assert result == {"request": "a", "driver": "d", "pool": "p", "device": "e"}


def test_what_many_leases_say_is_there_once() -> None:
    """All that is read of a lease stays, and the name of a node is one text for all of its own."""
    whole = lease_of("10.1.2.3", "", "10.1.2.3")
    whole["metadata"] |= {"uid": "u", "resourceVersion": "5", "managedFields": [LONG]}
    whole["spec"] |= {"renewed": "once more"}
    one, two = (slim_lease(msgspec.json.decode(msgspec.json.encode(whole))) for _ in range(2))
    meta = {"name": "10.1.2.3", "uid": "u", "resourceVersion": "5"}
    spec = {key: each for key, each in whole["spec"].items() if key != "renewed"}
    assert one == {"metadata": meta, "spec": spec}
    assert one["spec"]["nodeName"] is two["spec"]["nodeName"]
    assert one["spec"]["claim"]["namespace"] is two["spec"]["claim"]["namespace"]


def test_an_original_of_copies_is_kept_as_a_whole() -> None:
    """In the one namespace that they are copied from."""
    found = huge(spec={"spec": REQUESTS})
    kept = slim_template("team")(found)
    assert kept["spec"] == found["spec"]
    assert kept["metadata"]["labels"] == found["metadata"]["labels"]
