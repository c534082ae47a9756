"""What all rungs share: who may run, and the real parts they run against.

A rung that cannot run on this machine is skipped aloud with the reason; with CI=true that is a
failure, so that nothing passes by not being run.
"""

import os
import secrets
import signal
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
import structlog

from lab.cluster import Lab
from lab.parts.binaries import CNI_PLUGINS, Binaries
from lab.progress import Progress
from lab.topology import DEFAULT_TOPOLOGY

# A busy machine may stall any one example; how long something takes is the benchmarks' business.
hypothesis.settings.register_profile(
    "netclaim", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("netclaim")

CLUSTER_TEST_S = 900  # several waits of up to three minutes each, and perhaps the boot
TESTS = Path(__file__).parent
ROOT_RUNGS = ("embedded", "reference", "cluster")


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """Commands quieten the logs of their process, which here is that of the next tests as well."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The directory is the rung; the cluster comes last, as the dearest, and its oldest release."""
    for item in items:
        rung = Path(item.path).relative_to(TESTS).parts[0]
        if rung in ROOT_RUNGS:
            item.add_marker(getattr(pytest.mark, rung))
        if rung == "cluster" and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(CLUSTER_TEST_S))
        if part := item.get_closest_marker("versions"):
            item.user_properties.append(("versions", part.args[0]))  # for scripts/run_versions.py
    items.sort(key=lambda item: ("cluster" in item.keywords, "older" in item.keywords))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Root is needed by every rung but the pure one."""
    rung = next((rung for rung in ROOT_RUNGS if rung in item.keywords), None)
    if rung and os.geteuid() != 0:
        cannot_run(f"the {rung} rung needs root: run `sudo make test`")


def cannot_run(reason: str) -> None:
    """Skip aloud, or fail where everything has to run."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def hear_interrupts() -> None:
    """Let the next program hear SIGINT: a job that a script has in the background ignores it.

    What ignores a signal hands that down, and Python then leaves the signal alone.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ignore_interrupts() -> None:
    """Let the next program ignore SIGINT, as such a job does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.fixture(scope="session")
def cni_plugins() -> Path:
    """The directory of the CNI project's own plugins."""
    return Binaries(Progress()).path(CNI_PLUGINS)


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """The seeds' cluster, booted once for all that want it, and taken away without a trace."""
    lab = Lab(f"test-{secrets.token_hex(3)}", Progress())
    lab.up(DEFAULT_TOPOLOGY, port=0)
    try:
        yield lab
    finally:
        lab.down()
        assert lab.leftovers() == []
