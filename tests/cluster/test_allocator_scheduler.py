"""The real kube-scheduler and our allocator give the same answers to the same questions.

A question is whether the claims of a pod can be had on one node: no, the devices it gets, or an
error that fails the pod. The kept table is put whole; what chance makes up is put in one batch,
by seeds, so that a difference can be had again.
"""

from collections.abc import Callable, Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lab.kubectl import Kubectl
from tests.cluster.site.allocator_site import Question, Site
from tests.support.allocator.cases import random_case
from tests.support.allocator.counted import counted_case
from tests.support.allocator.objects import ZONES, Case, Names, Object, results, results_and_config
from tests.support.allocator.table import TABLE
from tests.support.allocator.table_counted import COUNTED

SEEDS = 16  # with three nodes, 48 questions; about five seconds


@pytest.fixture
def site(admin: Kubectl, kubectl: Kubectl) -> Iterator[Site]:
    """A namespace that may ask for admin access, and nodes of its own."""
    admin("label", "namespace", kubectl.namespace, "resource.kubernetes.io/admin-access=true")
    site = Site(kubectl)
    with site.nodes():
        yield site


def question(
    site: Site,
    number: int,
    case: Case,
    letter: str,
    shown: Callable[[Object], list[str]] = results,
) -> Question:
    """A question about one node, with our answer."""
    node = f"{site.run}-{letter}"
    return Question(f"q{number}", case, node, case.answers(shown)[node])


def test_table(site: Site) -> None:
    """Every rule of the kept table is the scheduler's: the same devices, none, or an error."""
    pairs = [(entry, letter) for entry in (*TABLE, *COUNTED) for letter in "ac"]
    expected = [entry.a if letter == "a" else entry.c for entry, letter in pairs]
    questions = [
        question(site, number, entry.build(site.names(number)), letter)
        for number, (entry, letter) in enumerate(pairs)
    ]
    said = site.ask(questions)
    rules = [f"{entry.rule}, on node {letter}" for entry, letter in pairs]
    answers = [said[one.id] for one in questions]
    assert dict(zip(rules, answers, strict=True)) == dict(zip(rules, expected, strict=True))


def unmixed(made: Case) -> bool:
    """Whether a case can share a cluster: a broken pool would fail others' requests for all."""
    return not (made.wants_all and made.broken)


@pytest.mark.parametrize("make", [random_case, counted_case])
@settings(
    max_examples=1,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # one example, one site
)
@given(seeds=st.lists(st.integers(0, 2**32), min_size=SEEDS, max_size=SEEDS, unique=True))
def test_what_chance_makes_up(
    site: Site, make: Callable[[Random, Names | None], Case], seeds: list[int]
) -> None:
    """Clusters and claims made up by chance get the same devices and configuration everywhere."""
    seeds = [seed for seed in seeds if unmixed(make(Random(seed), None))]
    pairs = [(seed, letter) for seed in seeds for letter in ZONES]
    questions = [
        question(site, number, make(Random(seed), site.names(number)), letter, results_and_config)
        for number, (seed, letter) in enumerate(pairs)
    ]
    said = site.ask(questions, results_and_config)
    answers = {pair: said[one.id] for pair, one in zip(pairs, questions, strict=True)}
    assert answers == {pair: one.ours for pair, one in zip(pairs, questions, strict=True)}
