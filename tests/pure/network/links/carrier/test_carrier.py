"""A link's carrier over time: the clock is a number here."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.network.links.carrier.carrier import (
    FLAPPING_S,
    HOLD_MAX_S,
    Carrier,
    Patience,
    lacks_carrier,
    observed,
)
from tests.support.network_parts import link_of

PATIENCE = Patience(flap_hold_s=10.0, evict_after_s=0.0)
EVICTING = Patience(flap_hold_s=10.0, evict_after_s=60.0)
DOWN = 0  # flags of a link that is switched off


def after(*looks: tuple[float, bool], patience: Patience = PATIENCE) -> Carrier:
    """What is known after these looks, each at its time."""
    carrier = Carrier()
    for now_s, there in looks:
        carrier = observed(carrier, there=there, now_s=now_s, patience=patience)
    return carrier


def changes(looks: list[tuple[float, bool]], patience: Patience = PATIENCE) -> list[float]:
    """Return when what shows changes, if the caller looks again whenever it is told to."""
    carrier, seen = Carrier(), []
    for now_s, there in looks:
        while carrier.due_s is not None and carrier.due_s <= now_s:
            at_s, before = carrier.due_s, carrier
            carrier = observed(carrier, there=carrier.there, now_s=at_s, patience=patience)
            seen += [at_s] * (carrier.lost != before.lost)
        before = carrier
        carrier = observed(carrier, there=there, now_s=now_s, patience=patience)
        seen += [now_s] * (carrier.lost != before.lost)
    return seen


@pytest.mark.parametrize(
    ("facts", "lacking"),
    [
        ({"carrier": True}, False),
        ({"carrier": False}, True),
        ({"carrier": False, "kind": "veth"}, True),
        ({"carrier": False, "kind": "dummy"}, True),
        ({"carrier": False, "kind": "bond"}, True),
        ({"carrier": False, "kind": "bridge"}, False),
        ({"carrier": False, "kind": "tun"}, False),
    ],
)
def test_what_lacks_a_carrier(facts: dict[str, Any], lacking: bool) -> None:
    """A link that is up and whose carrier does not depend on who uses it."""
    assert lacks_carrier(link_of("eth1", **facts)) is lacking


def test_a_link_that_is_switched_off_lacks_nothing() -> None:
    """Unused cards are switched off until a pod gets them; nobody knows their carrier."""
    link = link_of("eth1")
    assert lacks_carrier(link)
    assert not lacks_carrier(type(link)(index=2, name="eth1", arphrd=1, flags=DOWN))


def test_a_loss_and_its_recovery_show_at_once() -> None:
    """The first loss in ten minutes is over with the first sight of the carrier."""
    assert after((100, True), (200, False)).lost
    back = after((100, True), (200, False), (201, True))
    assert (back.lost, back.due_s) == (False, None)


def test_no_carrier_at_the_start_is_a_loss() -> None:
    """A driver that starts while a link is without carrier says so, and when it is over."""
    assert after((5, False)).lost
    assert not after((5, False), (6, True)).lost


def test_a_second_loss_holds_the_recovery_back() -> None:
    """It shows once the carrier was steady for the hold; the value says when to look again."""
    held = after((0, False), (1, True), (2, False), (3, True))
    assert (held.lost, held.due_s) == (True, 13.0)
    assert observed(held, there=True, now_s=12.9, patience=PATIENCE).lost
    over = observed(held, there=True, now_s=13.0, patience=PATIENCE)
    assert (over.lost, over.due_s) == (False, None)


def test_each_further_loss_doubles_the_hold() -> None:
    """Up to the longest; a loss while the link is held back counts as well."""
    looks: list[tuple[float, bool]] = []
    holds = []
    for start in range(0, 40, 2):
        looks += [(start, False), (start + 1, True)]
        due_s = after(*looks).due_s
        holds.append(0 if due_s is None else due_s - start - 1)
    assert holds[:7] == [0, 10, 20, 40, 80, 160, HOLD_MAX_S]
    assert set(holds[6:]) == {HOLD_MAX_S}


def test_losses_far_apart_are_no_flapping() -> None:
    """What was lost long ago does not hold back a recovery of today."""
    looks = [(n * FLAPPING_S + extra, extra == 1) for n in range(9) for extra in (0, 1)]
    assert changes(looks) == [at_s for at_s, _ in looks]


def test_no_hold_no_damping() -> None:
    """With a hold of 0 every recovery shows at once."""
    looks = [(float(n), bool(n % 2)) for n in range(20)]
    assert changes(looks, Patience(flap_hold_s=0, evict_after_s=0)) == [n for n, _ in looks]


def test_an_hour_of_flapping_shows_three_changes() -> None:
    """A link that comes and goes every second is lost, back, and lost for good."""
    assert changes([(n / 2, bool(n % 2)) for n in range(7200)]) == [0.0, 0.5, 1.0]


@given(st.lists(st.tuples(st.floats(0.01, 400) | st.floats(0.01, 5), st.booleans()), max_size=200))
def test_however_it_flaps_changes_are_few(steps: list[tuple[float, bool]]) -> None:
    """At most 15 in any ten minutes: seven times lost and back, and one that began before."""
    now_s, looks = 0.0, []
    for pause_s, there in steps:
        now_s += pause_s
        looks.append((now_s, there))
    seen = changes(looks)
    assert all(late - early >= FLAPPING_S for early, late in zip(seen, seen[15:], strict=False))


def test_pods_go_after_an_uninterrupted_loss() -> None:
    """Not before its time; with the carrier they may stay, even while its recovery is held back."""
    lost = after((0, True), (100, False), patience=EVICTING)
    assert (lost.evicting, lost.due_s) == (False, 160.0)
    gone = observed(lost, there=False, now_s=160.0, patience=EVICTING)
    assert (gone.lost, gone.evicting, gone.due_s) == (True, True, None)
    back = observed(gone, there=True, now_s=170.0, patience=EVICTING)
    assert (back.lost, back.evicting) == (False, False)


def test_flapping_evicts_nobody() -> None:
    """The time begins anew with each loss."""
    looks = [(float(n), bool(n % 30 == 29)) for n in range(300)]
    assert not any(after(*looks[: n + 1], patience=EVICTING).evicting for n in range(300))


def test_nobody_is_evicted_unless_asked_for() -> None:
    """By default a loss that lasts for a day evicts nobody."""
    lost = after((0, False), (86400, False))
    assert (lost.lost, lost.evicting, lost.due_s) == (True, False, None)
