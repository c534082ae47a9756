"""What only the reference program can do is handed over to it, whole."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from netclaim.cni import CniCall, IPConfig, Plugins, Result
from netclaim.plugins import in_process_plugins
from netclaim.plugins.engine.errors import PluginError
from netclaim.plugins.host_device.device_lookup import HostDeviceConf, read_target
from netclaim.plugins.shared.masquerade import MasqueradeConf, needs_iptables
from tests.support.plugin_calls import call_of

ANSWER = Result(ips=(IPConfig("10.9.0.2/24"),))


class Programs:
    """Programs that write down what they are asked."""

    def __init__(self) -> None:
        self.calls: list[CniCall] = []

    async def run(self, call: CniCall) -> Result | None:
        """Take the call, and give an answer to an ADD."""
        self.calls.append(call)
        return ANSWER if call.command == "ADD" else None


@pytest.fixture
def programs() -> Programs:
    """The reference programs."""
    return Programs()


@pytest.fixture
def with_iptables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that has iptables."""
    program = tmp_path / "iptables"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def without_iptables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that has not."""
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.parametrize(
    "config",
    [
        {"type": "ptp", "ipMasq": True, "ipMasqBackend": "iptables"},
        {"type": "bridge", "ipMasq": True, "ipMasqBackend": "iptables"},
    ],
)
async def test_iptables_is_the_programs(programs: Programs, config: dict[str, Any]) -> None:
    """ADD and DEL go to the program as they came, and its answer comes back."""
    served: Plugins = in_process_plugins(programs)[config["type"]]
    calls = [call_of(command, config) for command in ("ADD", "DEL")]
    assert await served.run(calls[0]) == ANSWER
    assert await served.run(calls[1]) is None
    assert programs.calls == calls


async def test_a_selinux_label_is_the_programs(programs: Programs) -> None:
    """A label comes from the process that makes the tap."""
    served = in_process_plugins(programs)["tap"]
    call = call_of("ADD", {"type": "tap", "selinuxContext": "system_u:object_r:x_t:s0"})
    await served.run(call)
    assert programs.calls == [call]


@pytest.mark.usefixtures("with_iptables")
def test_iptables_is_preferred_where_it_is() -> None:
    """As the reference plugins prefer it, unless nftables is asked for, or nothing at all."""
    assert needs_iptables(MasqueradeConf(ip_masq=True))
    assert not needs_iptables(MasqueradeConf(ip_masq=True, ip_masq_backend="nftables"))
    assert not needs_iptables(MasqueradeConf())


@pytest.mark.usefixtures("without_iptables")
def test_iptables_is_not_needed_where_it_is_not() -> None:
    """Unless it is asked for by name."""
    assert not needs_iptables(MasqueradeConf(ip_masq=True))
    assert needs_iptables(MasqueradeConf(ip_masq=True, ip_masq_backend="iptables"))


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    """A machine with a card that the kernel drives, one that a program has, and an SF."""
    for driver, device in (("ice", "0000:01:00.0"), ("vfio-pci", "0000:02:00.0")):
        (tmp_path / "bus/pci/drivers" / driver).mkdir(parents=True)
        (tmp_path / "bus/pci/devices" / device).mkdir(parents=True)
        link = tmp_path / "bus/pci/devices" / device / "driver"
        link.symlink_to(tmp_path / "bus/pci/drivers" / driver)
    (tmp_path / "bus/auxiliary/devices/mlx5_core.sf.2").mkdir(parents=True)
    return tmp_path


def conf(device_id: str = "", **keys: str) -> HostDeviceConf:
    """Write a configuration, with what the runtime offers."""
    written = keys | ({"runtimeconfig": {"deviceid": device_id}} if device_id else {})
    return msgspec.convert(written, HostDeviceConf)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (conf(pcibusid="0000:01:00.0"), ("0000:01:00.0", "", False)),
        (conf(pcibusid="0000:02:00.0"), ("0000:02:00.0", "", True)),
        (conf("0000:02:00.0", pcibusid="0000:01:00.0"), ("0000:02:00.0", "", True)),
        (conf("mlx5_core.sf.2", pcibusid="0000:01:00.0"), ("", "mlx5_core.sf.2", False)),
        (conf(device="eth1"), ("", "", False)),
    ],
)
def test_a_device_is_told_by_what_names_it(
    written: HostDeviceConf, found: tuple[str, str, bool], sysfs: Path
) -> None:
    """What the runtime offers goes over the PCI address; a card that a program has is known."""
    target = read_target(written, sysfs)
    assert (target.pci, target.auxiliary, target.in_userspace) == found


@pytest.mark.parametrize("written", [conf(), conf("0000:09:00.0"), conf(pcibusid="0000:09:00.0")])
def test_a_device_that_is_not_there_is_told(written: HostDeviceConf, sysfs: Path) -> None:
    """Neither named, nor found."""
    with pytest.raises(PluginError):
        read_target(written, sysfs)
