"""Kubectl on the lab: for looking only, or in a namespace of the test's own."""

import secrets
from collections.abc import Iterator

import pytest

from lab.cluster import Lab
from tests.cluster.kubectl import Kubectl


@pytest.fixture
def admin(lab: Lab) -> Kubectl:
    """Kubectl in the default namespace."""
    return Kubectl(lab)


@pytest.fixture
def kubectl(lab: Lab, admin: Kubectl) -> Iterator[Kubectl]:
    """Kubectl in a fresh namespace, which is gone with all its pods when the test ends."""
    namespace = f"t-{secrets.token_hex(3)}"
    admin("create", "namespace", namespace)
    scoped = Kubectl(lab, namespace)
    scoped("wait", "serviceaccount/default", "--for=create", "--timeout=180s")
    try:
        yield scoped
    finally:
        admin("delete", "namespace", namespace, "--wait=true", "--timeout=180s")
