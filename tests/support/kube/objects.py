"""Hypothesis strategies for objects of resource.k8s.io/v1, each field there or not."""

from typing import Any

from hypothesis import strategies as st

__all__ = ["objects"]

Found = dict[str, Any]

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)
QUANTITIES = st.sampled_from(["1", "500m", "10Gi", "1e3"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)


def fields(required: Any, optional: Any) -> st.SearchStrategy[Found]:
    """Return objects with all of the required and some of the optional fields."""
    return st.fixed_dictionaries(required, optional=optional)


SELECTORS = st.lists(st.builds(lambda text: {"cel": {"expression": text}}, st.text()), max_size=2)
TOLERATIONS = st.lists(fields({"key": NAMES}, {"effect": st.just("NoExecute")}), max_size=1)
CONFIG = st.builds(
    lambda driver, given: {"opaque": {"driver": driver, "parameters": given}},
    NAMES,
    st.dictionaries(NAMES, JSON, max_size=2),
)


def request_fields(*, newer: bool) -> Found:
    """Return the optional fields of a request, also those that v1alpha3 never had."""
    common = {
        "selectors": SELECTORS,
        "allocationMode": st.sampled_from(["ExactCount", "All"]),
        "count": st.integers(1, 4),
        "tolerations": TOLERATIONS,
    }
    capacity = {"capacity": st.just({"requests": {"vfs": "1"}})}
    return {**common, **capacity} if newer else common


def requests(*, newer: bool) -> st.SearchStrategy[Found]:
    """Return requests of both forms."""
    inner = request_fields(newer=newer)
    exactly = fields({"deviceClassName": NAMES}, {**inner, "adminAccess": st.booleans()})
    alternative = fields({"name": NAMES, "deviceClassName": NAMES}, inner)
    return fields({"name": NAMES, "exactly": exactly}, {}) | fields(
        {"name": NAMES, "firstAvailable": st.lists(alternative, min_size=1, max_size=2)}, {}
    )


def claim_spec(*, newer: bool) -> st.SearchStrategy[Found]:
    """Return the spec of a claim."""
    kinds = ["matchAttribute", "distinctAttribute"] if newer else ["matchAttribute"]
    constraint = st.builds(
        lambda kind, name: {kind: f"{name}/x", "requests": [name]}, st.sampled_from(kinds), NAMES
    )
    devices = fields(
        {"requests": st.none() | st.lists(requests(newer=newer), max_size=3)},
        {"constraints": st.lists(constraint, max_size=2), "config": st.lists(CONFIG, max_size=2)},
    )
    return st.fixed_dictionaries({"devices": devices})


def devices(*, newer: bool) -> st.SearchStrategy[Found]:
    """Return devices of a slice."""
    capacity: Any = st.builds(lambda value: {"value": value}, QUANTITIES)
    attribute: Any = st.builds(lambda value: {"string": value}, st.text(max_size=4))
    optional: Found = {"allNodes": st.booleans(), "taints": st.just([{"key": "a"}])}
    if newer:
        capacity |= st.just({"value": "5", "requestPolicy": {"default": "1"}})
        attribute |= st.just({"ints": [1, 2]})
        optional["allowMultipleAllocations"] = st.booleans()
    optional["attributes"] = st.dictionaries(NAMES, attribute, max_size=2)
    optional["capacity"] = st.dictionaries(NAMES, capacity, max_size=2)
    return fields({"name": NAMES}, optional)


def objects(*, newer: bool = True) -> st.SearchStrategy[tuple[str, Found]]:
    """Return a kind and an object of it; `newer` allows what v1alpha3 never had."""
    slice_spec = fields(
        {
            "driver": NAMES,
            "pool": st.just({"name": "p", "generation": 1, "resourceSliceCount": 1}),
            "devices": st.none() | st.lists(devices(newer=newer), max_size=3),
        },
        {"nodeName": NAMES},
    )
    class_fields = {"selectors": SELECTORS, "config": st.lists(CONFIG, max_size=1)}
    specs = {
        "DeviceClass": fields({}, class_fields),
        "ResourceClaim": claim_spec(newer=newer),
        "ResourceClaimTemplate": st.builds(lambda spec: {"spec": spec}, claim_spec(newer=newer)),
        "ResourceSlice": slice_spec,
    }

    def build(kind: str) -> st.SearchStrategy[tuple[str, Found]]:
        whole = st.fixed_dictionaries(
            {
                "apiVersion": st.just("resource.k8s.io/v1"),
                "kind": st.just(kind),
                "metadata": st.builds(lambda name: {"name": name}, NAMES),
                "spec": specs[kind],
            }
        )
        return st.tuples(st.just(kind), whole)

    return st.sampled_from(sorted(specs)).flatmap(build)
