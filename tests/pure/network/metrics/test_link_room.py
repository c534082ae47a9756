"""How much there is of each link, as it is scraped."""

from prometheus_client import CollectorRegistry

from netclaim.network.metrics.link_room import LinkRoom, Room


def scraped(room: LinkRoom) -> dict[tuple[str, str], float]:
    """The samples by metric and link."""
    registry = CollectorRegistry()
    registry.register(room)
    return {
        (sample.name.removeprefix("netclaim_link_"), sample.labels["link"]): sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if sample.labels["driver"] == "d"
    }


def test_a_link_has_as_much_as_was_offered() -> None:
    """Claims and bits per second; a link without a speed has no series for it."""
    room = LinkRoom("d")
    assert scraped(room) == {}
    room.note({"eth1": Room(32, 10_000_000_000), "eth2": Room(1, 0)})
    assert scraped(room) == {
        ("claims_max", "eth1"): 32,
        ("claims_max", "eth2"): 1,
        ("bandwidth_bits_per_second", "eth1"): 10_000_000_000,
    }
    assert (room.bandwidth_of("eth1"), room.bandwidth_of("eth2")) == (10_000_000_000, 0)


def test_a_link_that_is_gone_has_no_series() -> None:
    """What is noted replaces what was known."""
    room = LinkRoom("d")
    room.note({"eth1": Room(32, 10_000_000_000), "eth2": Room(32, 0)})
    room.note({"eth2": Room(10, 1_000)})
    assert scraped(room) == {
        ("claims_max", "eth2"): 10,
        ("bandwidth_bits_per_second", "eth2"): 1_000,
    }
    assert room.bandwidth_of("eth1") == 0
