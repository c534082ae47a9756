"""What kubectl reads before it applies something: that this server checks fields itself."""

from netclaim.local.api.discovery import discover
from netclaim.schema.kinds import KINDS


def test_every_kind_is_checked_by_the_server() -> None:
    """Each kind has, in each version, a path whose patch knows `fieldValidation`."""
    index = discover("/openapi/v3")
    assert index is not None
    for kind in KINDS:
        for address in kind.addresses:
            below = f"{'apis' if address.group else 'api'}/{address.api_version}"
            document = discover(index["paths"][below]["serverRelativeURL"])
            assert document is not None
            wanted = {"group": address.group, "version": address.version, "kind": kind.name}
            (found,) = [
                operation["patch"]["parameters"]
                for operation in document["paths"].values()
                if operation["patch"]["x-kubernetes-group-version-kind"] == wanted
            ]
            assert [one["name"] for one in found] == ["fieldValidation"]


def test_paths_are_those_of_the_objects() -> None:
    """Only kinds with namespaces have one in their paths."""
    core = discover("/openapi/v3/api/v1")
    assert core is not None
    assert "/api/v1/namespaces/{namespace}/pods/{name}" in core["paths"]
    assert "/api/v1/nodes/{name}" in core["paths"]
    assert discover("/openapi/v2") is None
