"""Paths of objects lead to the object of that name, or nowhere."""

import pytest

from netclaim.errors import RequestError
from netclaim.kube import PODS


def test_a_path_has_every_step() -> None:
    """The collection of a namespace, an object, and a subresource."""
    assert PODS.path(namespace="a") == "/api/v1/namespaces/a/pods"
    assert PODS.path(namespace="a", name="b") == "/api/v1/namespaces/a/pods/b"
    path = PODS.path(namespace="a", name="x y", subresource="log")
    assert path == "/api/v1/namespaces/a/pods/x%20y/log"


@pytest.mark.parametrize(
    "name", [".", "..", "a/status", "../../secrets", "a%2fstatus", "%2e%2e", "/"]
)
def test_no_name_leads_elsewhere(name: str) -> None:
    """The server unquotes a path before it takes it apart, so that quoting would not help."""
    for names in ({"namespace": "a", "name": name}, {"namespace": name, "name": "b"}):
        with pytest.raises(RequestError, match="cannot be the name of an object"):
            PODS.path(**names)
