"""Selectors choose objects by labels and fields, as in `kubectl get -l` and `--field-selector`."""

import pytest

from netclaim.model.claims.claim import JsonObject
from netclaim.schema.kinds import POD
from netclaim.schema.selector import matches_labels, parse_selector

OBJECTS: dict[str, JsonObject] = {
    "plain": {"metadata": {"name": "plain"}},
    "web": {
        "metadata": {"name": "web", "labels": {"app": "web", "tier": "front"}},
        "spec": {"nodeName": "n"},
    },
    "db": {"metadata": {"name": "db", "labels": {"app": "db"}}, "spec": {"nodeName": "m"}},
}


@pytest.mark.parametrize(
    ("labels", "fields", "chosen"),
    [
        ("", "", ["plain", "web", "db"]),
        ("app=web", "", ["web"]),
        ("app==web", "", ["web"]),
        ("app!=web", "", ["plain", "db"]),
        ("app in (web, db)", "", ["web", "db"]),
        ("app notin (web)", "", ["plain", "db"]),
        ("app", "", ["web", "db"]),
        ("!app", "", ["plain"]),
        ("app,!tier", "", ["db"]),
        ("app in (web,db),tier=front", "", ["web"]),
        ("", "metadata.name=db", ["db"]),
        ("", "metadata.name!=db", ["plain", "web"]),
        ("", "spec.nodeName=", ["plain"]),
        ("app", "spec.nodeName!=n", ["db"]),
    ],
)
def test_selector_chooses(labels: str, fields: str, chosen: list[str]) -> None:
    """Every term has to hold; a field that is absent is empty."""
    selector = parse_selector(labels, fields, POD)
    assert [name for name, found in OBJECTS.items() if selector.selects(found)] == chosen


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}, True),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [
            {"key": "app", "operator": "DoesNotExist"}]}, False),
    ],
)  # fmt: skip
def test_selector_of_an_object(selector: JsonObject, matches: bool) -> None:
    """A Deployment's selector means the same in its own words."""
    assert matches_labels(selector, {"app": "web"}) is matches
