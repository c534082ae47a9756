"""The memory of devices that went into pods."""

from pathlib import Path

from netclaim.model import Capacity, Device, Quantity, Version
from netclaim.network.links.remembered.lent import LentDevices

ETH1 = Device("eth1", {"name": "eth1", "mtu": 9000, "virtual": False, "firmware": Version("1.2.3")})
ETH2 = Device("eth2", capacity={"bandwidth": Capacity(Quantity.parse("10G"))})


def test_devices_are_remembered_by_another_process(tmp_path: Path) -> None:
    """What one driver lent, the next one knows, attribute by attribute."""
    LentDevices(tmp_path / "lent").keep("claim-b", (ETH2,))
    LentDevices(tmp_path / "lent").keep("claim-a", (ETH1,))
    assert LentDevices(tmp_path / "lent").devices() == (ETH1, ETH2)


def test_keeping_again_replaces(tmp_path: Path) -> None:
    """A claim has one memory."""
    lent = LentDevices(tmp_path)
    lent.keep("claim", (ETH1,))
    lent.keep("claim", (ETH2,))
    assert lent.devices() == (ETH2,)


def test_dropping_forgets_and_may_be_repeated(tmp_path: Path) -> None:
    """Releasing a claim that lent nothing, or was released before, is no error."""
    lent = LentDevices(tmp_path / "lent")
    lent.drop("never")
    lent.keep("claim", (ETH1,))
    lent.drop("claim")
    lent.drop("claim")
    assert lent.devices() == ()


def test_a_damaged_file_costs_only_itself(tmp_path: Path) -> None:
    """Other claims' devices stay published."""
    lent = LentDevices(tmp_path)
    lent.keep("claim", (ETH1,))
    (tmp_path / "broken.json").write_bytes(b"{")
    (tmp_path / "invalid.json").write_bytes(b'[{"name": "Not A Label"}]')
    assert lent.devices() == (ETH1,)


def test_what_another_process_changed_is_seen(tmp_path: Path) -> None:
    """Two drivers share the directory while one takes over from the other."""
    older, newer = LentDevices(tmp_path), LentDevices(tmp_path)
    older.keep("claim", (ETH1,))
    assert newer.devices() == (ETH1,)
    older.keep("claim", (ETH2,))
    assert newer.devices() == (ETH2,)
    older.drop("claim")
    assert newer.devices() == ()
