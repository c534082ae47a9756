"""A driver knows the networks that their classes describe, and those of its last start."""

from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from netclaim.network.networks.known import GONE_KEPT, KnownNetworks
from tests.support.networks import class_for, known, network


def test_a_class_says_what_its_network_is() -> None:
    """Everything that a node needs; whether it is switched on is not for a node."""
    spec: dict[str, Any] = {
        "ipam": {"type": "static"},
        "namespaces": {"matchLabels": {"a": "b"}},
        "allow": ["ips"],
    }
    assert known(network(**spec, enabled=True)).offered() == (network(**spec),)


def test_the_same_networks_are_no_change() -> None:
    """So that nothing is listed again when a watch begins anew."""
    there = known(network(), network("other"))
    before = there.of_device("media-net-on-eth1")
    assert not there.learn(map(class_for, (network("other"), network())))
    assert there.learn(map(class_for, (network(), network("other", mtu=1400))))
    assert there.of_device("media-net-on-eth1") is before


def test_the_next_start_knows_them(tmp_path: Path) -> None:
    """Until the API server has listed them."""
    path = tmp_path / "state" / "networks.json"
    known(network(), path=path).save()
    again = KnownNetworks(path)
    assert (again.offered(), again.listed) == ((network(),), False)
    again.learn([])
    assert (again.offered(), again.listed) == ((), True)


def test_a_network_that_went_is_remembered_for_its_claims() -> None:
    """A claim that has it may have to be prepared again after a reboot; a new one comes first."""
    there = known(network())
    there.learn([])
    assert there.offered() == ()
    assert there.of_device("media-net-on-eth1") == network()
    there.learn([class_for(network(mtu=1400))])
    assert there.of_device("media-net-on-eth1") == network(mtu=1400)
    for number in range(GONE_KEPT + 2):
        there.learn([class_for(network(f"n{number}"))])
    assert there.of_device("media-net-on-eth1") is None


def test_what_cannot_be_read_is_logged_and_not_there(tmp_path: Path) -> None:
    """A class that somebody changed, one of another network, and a damaged file."""
    damaged, foreign = class_for(network()), class_for(network("other"))
    (key,) = damaged["metadata"]["annotations"]
    damaged["metadata"]["annotations"][key] = "{"
    foreign["metadata"]["name"] = "another"
    (tmp_path / "networks.json").write_text("[")
    with capture_logs() as logs:
        there = KnownNetworks(tmp_path / "networks.json")
        there.learn([damaged, foreign, class_for(network("good"))])
    assert [each.name for each in there.offered()] == ["good"]
    assert [log["event"] for log in logs] == ["networks.not_kept", "networks.unreadable"]
