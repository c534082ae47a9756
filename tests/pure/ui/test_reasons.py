"""Why a pod waits, as rows of devices and columns of conditions."""

import pytest

from netclaim.errors import RequestError
from netclaim.ui.reasons import ROWS_MAX, Reasons, reasons_of
from tests.pure.ui.test_picture import view
from tests.support.ui_objects import SELECTS, claim, crowd, pod, scene


def why(key: str) -> Reasons:
    """Ask why something of the scene waits."""
    found = reasons_of(view(scene()), key)
    assert found is not None
    return found


def test_the_nearest_first() -> None:
    """A device that misses one condition stands before one that misses two, with what it has."""
    found = why("pod/media/encoder-wide")
    assert found.outcome == "cannot be allocated"
    assert found.conditions[0] == 'ifName == "eht1"'
    assert "speed >= 100000" in found.conditions
    assert [row.distance for row in found.rows] == sorted(row.distance for row in found.rows)
    first, last = found.rows[0], found.rows[-1]
    assert first.device == "eth1"
    assert dict(first.missed)[0] == 'ifName is "eth1"'
    assert len(first.missed) < len(last.missed)


def test_a_condition_is_one_column() -> None:
    """What every device misses is one condition, whatever each of them has."""
    found = why("claim/storage/replica-3-net")
    assert found.conditions[0] == "mtu > 9000"
    assert all(dict(row.missed)[0] == "mtu is 9000" for row in found.rows)


def test_the_rest_is_counted() -> None:
    """Of many devices the nearest are listed, and the others are counted."""
    waiting = claim("wide", selector=f"{SELECTS}.mtu > 9000")
    crowded = view([*crowd(40, 0), waiting, pod("wide", "wide", phase="Pending")])
    found = reasons_of(crowded, "pod/default/wide")
    assert found is not None
    assert (len(found.rows), found.more) == (ROWS_MAX, 160 - ROWS_MAX)


def test_nobody_to_ask_about() -> None:
    """Only pods and claims wait; one that is gone is a RequestError."""
    assert reasons_of(view(scene()), "node/rack1-a") is None
    with pytest.raises(RequestError, match='no pod "gone"'):
        why("pod/media/gone")
