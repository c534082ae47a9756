"""What is published of a link that loses its carrier; the clock is a number here."""

from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from netclaim.kernel import Link, SysfsFacts
from netclaim.model import Device, Taint
from netclaim.network.devices.device import device_of
from netclaim.network.links.carrier.health import LinkHealth
from netclaim.network.links.carrier.last_speeds import LastSpeeds
from netclaim.network.settings import LinkSettings, LiveSettings
from tests.support.network_parts import DRIVER, link_of

NO_SCHEDULE = Taint(key=f"{DRIVER}/no-carrier", effect="NoSchedule")
NO_EXECUTE = Taint(key=f"{DRIVER}/no-carrier", effect="NoExecute")
UP = link_of("eth1", carrier=True, oper_state="up")
LOST = link_of("eth1", carrier=False, oper_state="down")


class Node:
    """A node whose links are looked at."""

    def __init__(self, **settings: Any) -> None:
        self.now_s = 0.0
        self.live = LiveSettings(LinkSettings(state_dir=Path("/nowhere"), **settings))
        self.health = LinkHealth(self.live, lambda: self.now_s)

    def look(self, now_s: float, *links: Link) -> list[Device]:
        """The devices at that time."""
        self.now_s = now_s
        return list(self.health.judged((link, published(link)) for link in links))

    def losses(self) -> float:
        """What the metric says."""
        (family,) = self.health.losses.collect()
        return next(each.value for each in family.samples if each.name.endswith("_total"))


def published(link: Link) -> Device:
    """The link as a device."""
    return device_of(link, (), SysfsFacts(), default_route=False)


def test_a_loss_is_a_taint_and_goes_by_itself() -> None:
    """On the device of that link only; the log and a metric say so."""
    node, other = Node(), link_of("eth2", 3, carrier=True)
    with capture_logs() as logs:
        assert [each.taints for each in node.look(0, UP, other)] == [(), ()]
        assert [each.taints for each in node.look(1, LOST, other)] == [(NO_SCHEDULE,), ()]
        assert node.look(2, UP, other) == [published(UP), published(other)]
    assert [(each["event"], each["link"]) for each in logs] == [
        ("discover.carrier_lost", "eth1"),
        ("discover.carrier_back", "eth1"),
    ]
    assert node.losses() == 1


def test_every_device_of_a_link_is_tainted() -> None:
    """A link may be offered as several devices."""
    node = Node()
    slots = [(LOST, Device("eth1-slot-0")), (LOST, Device("eth1-slot-1"))]
    assert [each.taints for each in node.health.judged(slots)] == [(NO_SCHEDULE,)] * 2
    assert node.losses() == 1


def test_what_is_published_does_not_flap() -> None:
    """While a recovery is held back, the device stays as it was when it was lost."""
    node = Node()
    node.look(0, UP)
    node.look(1, LOST)
    node.look(2, UP)
    lost = node.look(3, LOST)
    assert lost[0].attributes["state"] == "down"
    for now_s in range(4, 100):
        assert node.look(now_s, UP if now_s % 2 == 0 else LOST) == lost
    assert node.losses() == 50


def test_the_device_is_due_when_its_recovery_shows() -> None:
    """The driver lists the devices again then, although no link has changed."""
    node = Node()
    for now_s, link in enumerate([LOST, UP, LOST, UP]):
        node.look(now_s, link)
    assert node.health.due_in_s == 10.0
    assert node.look(13, UP) == [published(UP)]
    assert node.health.due_in_s is None


def test_eviction_is_a_second_taint() -> None:
    """NoSchedule stays, so that its time does not begin anew; due when it is time."""
    node = Node(evict_after_s=30.0)
    assert node.look(0, LOST)[0].taints == (NO_SCHEDULE,)
    assert node.health.due_in_s == 30.0
    with capture_logs() as logs:
        assert node.look(30, LOST)[0].taints == (NO_SCHEDULE, NO_EXECUTE)
    assert [each["event"] for each in logs] == ["discover.evicting"]
    assert node.look(31, UP)[0].taints == ()


def test_links_whose_carrier_is_ignored() -> None:
    """They are never tainted; a setting that changes takes effect at the next look."""
    node = Node(ignore_carrier=("eth*",))
    assert node.look(0, LOST)[0].taints == ()
    node.live.now = LinkSettings(state_dir=Path("/nowhere"))
    assert node.look(1, LOST)[0].taints == (NO_SCHEDULE,)


def test_a_link_that_went_is_forgotten() -> None:
    """What comes back under its name begins anew."""
    node = Node()
    for now_s, link in enumerate([LOST, UP, LOST]):
        node.look(now_s, link)
    node.look(3)
    assert node.health.due_in_s is None
    assert node.look(4, UP)[0].taints == ()


def test_taints_of_others_stay() -> None:
    """Ours are added to what the device has."""
    theirs = Taint(key="example.com/broken", effect="NoSchedule")
    (device,) = Node().health.judged([(LOST, Device("eth1", taints=(theirs,)))])
    assert device.taints == (theirs, NO_SCHEDULE)


def test_a_link_without_carrier_keeps_its_speed() -> None:
    """Cards do not say it then; one that is switched off, or that never had any, has none."""
    speeds = LastSpeeds()
    fast, silent = SysfsFacts(speed_mbps=25000), SysfsFacts(driver="ice")
    assert speeds.filled_in(LOST, silent).speed_mbps is None
    assert speeds.filled_in(UP, fast) == fast
    assert speeds.filled_in(LOST, silent) == SysfsFacts(driver="ice", speed_mbps=25000)
    off = Link(index=2, name="eth1", arphrd=1, flags=0)
    assert speeds.filled_in(off, silent) == silent
