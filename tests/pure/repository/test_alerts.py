"""The alerts fire when they should, over the series of an hour, and not otherwise."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest
import yaml

from tests.support.doc_pages import ROOT
from tests.support.telemetry.promql_eval import Series, evaluate, fires

FILE: Final = ROOT / "charts" / "netclaim" / "files" / "alerts.yaml"
RULES: Final[Mapping[str, Mapping[str, Any]]] = {
    rule["alert"]: rule for group in yaml.safe_load(FILE.read_text()) for rule in group["rules"]
}
HOUR_S: Final = 3600
EVERY_S: Final = 30  # a scrape, as the chart's ServiceMonitor asks for
TARGET: Final = {"job": "netclaim", "instance": "10.0.0.1:9178", "node": "one", "driver": "d"}
SET: Final = {"namespace": "NAMESPACE", "daemonset": "DAEMONSET", "job": "ksm", "instance": "k"}


def series(name: str, *values: float, **labels: str) -> Series:
    """A metric of the driver over an hour, whose values follow each other in equal times."""
    each_s = HOUR_S / len(values)
    samples = {at: values[int(at / each_s)] for at in range(0, HOUR_S, EVERY_S)}
    return Series(name, {**TARGET, **labels}, samples)


def of_set(name: str, *values: float, daemonset: str = "DAEMONSET") -> Series:
    """A metric of kube-state-metrics about a DaemonSet."""
    plain = series(f"kube_daemonset_status_{name}", *values)
    return Series(plain.name, {**SET, "daemonset": daemonset}, plain.samples)


def fired(alert: str, given: Sequence[Series], at: int = HOUR_S - 1) -> list[Mapping[str, str]]:
    """With which labels an alert fires, at the end of the hour if no other time is said."""
    return fires(RULES[alert], given, at // 60 * 60)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_nothing_fires_without_series(rule: Mapping[str, Any]) -> None:
    """Every expression can be read, and a Prometheus that knows nothing of netclaim is silent."""
    assert fires(rule, [], HOUR_S) == []


def test_and_binds_closer_than_or() -> None:
    """As in Prometheus; so does a comparison than both, and a product than a sum."""
    given = [series(name, value) for name, value in (("a", 1), ("b", 2), ("c", 3))]
    assert evaluate("a or b and c > 5", given, 60) == evaluate("a", given, 60)
    assert evaluate("(a or b) and c > 5", given, 60) == {}
    assert list(evaluate("a + b * c == 7", given, 60).values()) == [7]


def rollout(updated: Sequence[float], available: Sequence[float], wanted: float) -> list[Series]:
    """A DaemonSet during an update, and another one that is as it should be."""
    other = [of_set("updated_number_scheduled", 3, daemonset="other")]
    other += [of_set("number_available", 3, daemonset="other")]
    other += [of_set("desired_number_scheduled", 3, daemonset="other")]
    return [
        *other,
        of_set("updated_number_scheduled", *updated),
        of_set("number_available", *available),
        of_set("desired_number_scheduled", wanted),
    ]


@pytest.mark.parametrize(
    ("updated", "available", "stuck"),
    [
        ([20], [20], False),
        ([1], [20], True),  # the surge pod of the first node does not start: ErrImagePull
        ([7], [19], True),
        ([20], [19], True),  # the last one crashes
        ([*range(1, 13)], [20], False),  # a node every five minutes
        ([1, 20], [20], False),  # it was stuck half an hour ago
    ],
)
def test_rollout_stuck(updated: Sequence[float], available: Sequence[float], stuck: bool) -> None:
    """A rollout is stuck if a node lacks the newest version and none gets it any more."""
    found = fired("NetclaimRolloutStuck", rollout(updated, available, 20))
    assert bool(found) == stuck
    assert {each["daemonset"] for each in found} <= {"DAEMONSET"}


def test_a_rollout_has_its_time() -> None:
    """A node that pulls a large image for ten minutes is no alert."""
    begun = rollout([20, 20, 20, 1, 1, 1], [20], 20)
    middle = HOUR_S // 2
    assert fired("NetclaimRolloutStuck", begun, middle + 10 * 60) == []
    assert fired("NetclaimRolloutStuck", begun, middle + 25 * 60) != []


def link(used: float, most: float, limits: float = 0, bandwidth: float = 0) -> list[Series]:
    """A link that claims share, and one that has room."""
    found = [
        series("netclaim_link_attachments", used, link="eth1"),
        series("netclaim_link_claims_max", most, link="eth1"),
        series("netclaim_link_attachments", 2, link="eth2"),
        series("netclaim_link_claims_max", 32, link="eth2"),
    ]
    if bandwidth:  # a link whose speed is not known has no such series
        found += [
            series("netclaim_link_limits_bits_per_second", limits, link="eth1"),
            series("netclaim_link_bandwidth_bits_per_second", bandwidth, link="eth1"),
        ]
    return found


@pytest.mark.parametrize(
    ("given", "full"),
    [
        (link(29, 32), True),
        (link(28, 32), False),
        (link(3, 32, 9.5e9, 1e10), True),
        (link(3, 32, 8e9, 1e10), False),
        (link(1, 1), False),  # it is for one claim
        (link(1, 32, 9.5e9, 1e10), False),  # nobody else has anything of it
    ],
)
def test_link_nearly_full(given: Sequence[Series], full: bool) -> None:
    """By the number of claims or by their bandwidth, and only where several share the link."""
    found = fired("NetclaimLinkNearlyFull", given)
    assert [each["link"] for each in found] == ["eth1"] * full


def test_a_link_that_was_full_for_a_moment() -> None:
    """A burst that fills a link for five minutes is no alert."""
    used = series("netclaim_link_attachments", *[2] * 11, 32, link="eth1")
    most = series("netclaim_link_claims_max", 32, link="eth1")
    assert fired("NetclaimLinkNearlyFull", [used, most]) == []


@pytest.mark.parametrize(
    ("missing", "fires_"),
    [((0,), False), ((*[0] * 11, 2), False), ((*[0] * 5, 2), True), ((2, 2, 0), False)],
)
def test_interfaces_missing(missing: Sequence[float], fires_: bool) -> None:
    """Running pods have lacked interfaces for five minutes, on this node."""
    there = series("netclaim_missing_attachments", *missing)
    fine = Series(there.name, {**TARGET, "instance": "two"}, dict.fromkeys(there.samples, 0))
    found = fired("NetclaimInterfacesMissing", [there, fine])
    assert [each["instance"] for each in found] == [TARGET["instance"]] * fires_


@pytest.mark.parametrize(("ready", "seat", "fires_"), [(0, 1, True), (1, 1, False), (0, 0, False)])
def test_not_ready(ready: float, seat: float, fires_: bool) -> None:
    """Only of the process that does the work: a second one waits as it should."""
    given = [series("netclaim_ready", ready), series("netclaim_seat_held", seat)]
    assert bool(fired("NetclaimNotReady", given)) == fires_


@pytest.mark.parametrize(("free", "fires_"), [(1, True), (30, False)])
def test_addresses_low(free: float, fires_: bool) -> None:
    """Less than a tenth of a network's addresses is free on a node."""
    network = {"network": "default/n", "family": "ipv4"}
    given = [
        series("netclaim_network_addresses", free, state="free", **network),
        series("netclaim_network_addresses", 30, state="used", **network),
    ]
    assert bool(fired("NetclaimAddressesLow", given)) == fires_


@pytest.mark.parametrize(("count", "fires_"), [(0, False), (1, True)])
def test_duplicate_addresses(count: float, fires_: bool) -> None:
    """As the replica of the controller that works counts them."""
    given = [series("netclaim_controller_duplicate_addresses", count)]
    assert bool(fired("NetclaimDuplicateAddresses", given)) == fires_


def leading(*values: float, instance: str, until_s: int = HOUR_S) -> Series:
    """Whether a replica of the controller works, as long as it is scraped."""
    whole = series("netclaim_controller_leading", *values, instance=instance)
    samples = {at: value for at, value in whole.samples.items() if at < until_s}
    return Series(whole.name, whole.labels, samples)


@pytest.mark.parametrize(
    ("replicas", "fires_"),
    [
        ([leading(1, instance="a"), leading(0, instance="b")], False),
        ([leading(1, 0, instance="a"), leading(0, 1, instance="b")], False),
        ([leading(1, 1, 0, instance="a"), leading(0, instance="b")], True),
        ([leading(1, instance="a", until_s=1800)], True),
        ([leading(1, instance="a", until_s=1800), leading(1, instance="b")], False),
    ],
)
def test_no_controller(replicas: Sequence[Series], fires_: bool) -> None:
    """None of the replicas works, or those that were scraped are gone."""
    assert bool(fired("NetclaimNoController", replicas)) == fires_


@pytest.mark.parametrize(
    ("alert", "metric"),
    [
        ("NetclaimControllerFailing", "netclaim_controller_failing"),
        ("NetclaimLeasesUncollected", "netclaim_controller_uncollected_leases"),
    ],
)
@pytest.mark.parametrize(("counts", "fires_"), [((0,), False), ((1,), True), ((1, 0), False)])
def test_what_the_controller_cannot_do(
    alert: str, metric: str, counts: Sequence[float], fires_: bool
) -> None:
    """For longer than a moment."""
    assert bool(fired(alert, [series(metric, *counts)])) == fires_
