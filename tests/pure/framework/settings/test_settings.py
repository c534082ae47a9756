"""Settings are one list: of fields, of flags, of explanations."""

from pathlib import Path

import pytest

from netclaim.errors import HostError, RequestError
from netclaim.framework import Settings, settings_from_command_line
from netclaim.framework.discover.follow import device_healths
from netclaim.framework.process.http import Place, http_serving
from netclaim.framework.process.http_access import HttpAccess
from netclaim.framework.settings import declared_in
from netclaim.framework.telemetry.metrics import Metrics
from netclaim.framework.testing import FakeClock
from netclaim.kubelet import Health
from netclaim.model import Device, Taint
from tests.support.framework.accounts import Accounts
from tests.support.framework.parts import booking_of, claim_of, device_of


def test_defaults() -> None:
    """Without flags the settings are the defaults, and the node's name comes from the manifest."""
    given = settings_from_command_line("x", [], {"NODE_NAME": "kind-worker"})
    assert given == Settings(node_name="kind-worker")


def test_node_name() -> None:
    """A flag goes before the environment, and the host's name is the last resort."""
    assert settings_from_command_line("x", ["--node-name=a"], {"NODE_NAME": "b"}).node_name == "a"
    assert settings_from_command_line("x", [], {}).node_name


def test_types() -> None:
    """A flag's text becomes the field's type."""
    argv = ["--state-dir=/s", "--prepare-budget=3.5", "--log-format=text"]
    given = settings_from_command_line("x", argv, {})
    assert (given.state_dir, given.prepare_budget_s, given.log_format) == (Path("/s"), 3.5, "text")


def test_unknown_choice(capsys: pytest.CaptureFixture[str]) -> None:
    """A value that is no choice is refused with the choices."""
    with pytest.raises(SystemExit):
        settings_from_command_line("x", ["--log-format=xml"], {})
    assert "json" in capsys.readouterr().err


def test_every_setting_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Each setting has a flag, and its explanation in the help."""
    with pytest.raises(SystemExit):
        settings_from_command_line("x", ["--help"], {})
    text = " ".join(capsys.readouterr().out.split())
    for setting in declared_in(Settings):
        assert setting.option in text
        assert setting.text.split(".")[0] in text


@pytest.mark.parametrize(
    ("address", "error"),
    [("9178", RequestError), ("localhost:http", RequestError), ("192.0.2.1:9178", HostError)],
)
async def test_address_that_cannot_be(address: str, error: type[Exception]) -> None:
    """An address that is none, or not ours, is refused by name."""
    clock = FakeClock()
    metrics = Metrics("d", clock)
    with pytest.raises(error, match=address.partition(":")[0]):
        async with http_serving(
            Place(address),
            metrics,
            lambda: "",
            unhealthy=lambda: "",
            refresh=lambda: None,
            access=HttpAccess(Accounts(), clock),
            clock=clock,
        ):
            pass


def test_device_health() -> None:
    """Offered devices are healthy, tainted ones and held ones that are gone are not."""
    devices = (
        Device(name="eth0"),
        Device(name="eth1", taints=(Taint(key="example.com/hot", effect="NoExecute"),)),
        Device(name="eth2", taints=(Taint(key="example.com/note", effect="None"),)),
    )
    bookings = [booking_of(claim_of("red", device_of("eth0"), device_of("eth9")))]
    healths = device_healths("node-1", devices, bookings)
    assert [(h.device_name, h.health, h.message) for h in healths] == [
        ("eth0", Health.HEALTHY, ""),
        ("eth1", Health.UNHEALTHY, "tainted: example.com/hot"),
        ("eth2", Health.HEALTHY, ""),
        ("eth9", Health.UNHEALTHY, "the device is gone from the node, or hidden"),
    ]
