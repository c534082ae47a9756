"""The chart's driver dies in a burst of pods, and kubelet does not notice."""

import secrets
from collections.abc import Iterator

import pytest

from faults.burst import run_burst
from faults.chart_site import ChartSite
from faults.site import Site, site
from faults.table import FAULTS
from lab.cluster import Lab
from lab.progress import Progress


@pytest.fixture(scope="module")
def charted() -> Iterator[Site]:
    """A cluster with the chart on it."""
    lab = Lab(f"crash-{secrets.token_hex(3)}", Progress())
    with site(lab, (), ChartSite) as made:
        yield made
    assert lab.leftovers() == []


@pytest.mark.parametrize("name", ["driver-restarted", "driver-dead-2s-before"])
def test_crash_costs_no_prepare(charted: Site, name: str) -> None:
    """Pods have their interfaces, and no claim's prepare fails, after which kubelet would pause."""
    fault, burst = FAULTS[name], f"b{secrets.token_hex(2)}"
    before = charted.driver_process()
    result = run_burst(charted, fault, burst, mode="", moment=0.3, claimed=5, plain=2)
    assert result.violations == []
    assert charted.driver_process() != before
    assert charted.failed_prepares(burst) == set()


@pytest.mark.parametrize("name", ["driver-pod-restarted", "driver-stopped"])
def test_the_whole_pod_may_go(charted: Site, name: str) -> None:
    """Prepares fail meanwhile; the next driver's pod has kubelet ask again, by the controller."""
    fault, burst = FAULTS[name], f"b{secrets.token_hex(2)}"
    before = charted.driver_process()
    result = run_burst(charted, fault, burst, mode="", moment=0.3, claimed=5, plain=2)
    assert result.violations == []
    assert charted.driver_process() != before
