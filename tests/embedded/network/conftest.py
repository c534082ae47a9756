"""A node and a pod of a test's own."""

from collections.abc import Iterator

import pytest

from netclaim.kernel import Netns
from tests.support.kernel_support import fresh_netns
from tests.support.network_support import fresh_node


@pytest.fixture
def node() -> Iterator[Netns]:
    """A node with links."""
    with fresh_node() as made:
        yield made


@pytest.fixture
def pod() -> Iterator[Netns]:
    """A pod's namespace."""
    with fresh_netns() as made:
        yield made
