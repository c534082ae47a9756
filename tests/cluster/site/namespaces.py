"""A namespace of a test's own, gone with all that runs in it when the test ends."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from lab.cluster import Lab
from lab.kubectl import Kubectl

__all__ = ["clear", "own_namespace"]

# What holds devices, addresses and places on nodes, and what would make more of it: first the
# makers. Whatever else a namespace has is in nobody's way.
IN_THE_WAY = "deployments,statefulsets,replicasets,pods,resourceclaims"


@contextmanager
def own_namespace(lab: Lab) -> Iterator[Kubectl]:
    """Kubectl in a fresh namespace, which is empty of pods and claims when the block is left.

    The namespace itself goes later: its controller lets five seconds pass before it begins.
    """
    admin = lab.kubectl()
    namespace = f"t-{secrets.token_hex(3)}"
    admin("create", "namespace", namespace)
    scoped = lab.kubectl(namespace)
    scoped("wait", "serviceaccount/default", "--for=create", "--timeout=180s")
    try:
        yield scoped
    finally:
        clear(scoped)
        admin("delete", "namespace", namespace, "--wait=false")


def clear(scoped: Kubectl) -> None:
    """Remove a namespace's pods and claims, and wait until they are gone."""
    scoped("delete", IN_THE_WAY, "--all", "--wait=true", "--timeout=180s")
