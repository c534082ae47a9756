"""What is done with a guest's cards and functions: lent, and compared when they are back."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from netclaim.cni import CniError
from netclaim.cni.errors import CniErrorKind
from netclaim.kernel.state.card.card_settings import CardSettings, write_card
from tests.reference.site import vf_parameter_cases
from tests.reference.site.cni_site import ip
from tests.reference.site.link_state import opened
from tests.reference.site.vf_site import Loan, card_names, fresh_mac, function_names, loan

DRIVERS: Final = Path("/sys/bus/pci/drivers")


def whole_card() -> list[str]:
    """A card without functions goes and comes."""
    return _there_and_back(card_names()[0])


def function() -> list[str]:
    """So does a function."""
    return _there_and_back(_first_function())


def _there_and_back(name: str) -> list[str]:
    with TemporaryDirectory() as directory, loan(name, Path(directory)) as lent:
        lent.add()
        _spoil(lent)
        lent.delete()
        found = lent.faults("DEL")
        lent.add()
        _spoil(lent)
        ip("netns", "del", lent.site.pod)
        lent.forget()
        lent.delete(netns="")
        return found + lent.faults("the pod's namespace is gone")


def reloaded() -> list[str]:
    """A function that gets its kernel driver anew while a pod has it comes home."""
    name = _first_function()
    device = Path(f"/sys/class/net/{name}/device").resolve()
    with TemporaryDirectory() as directory, loan(name, Path(directory)) as lent:
        lent.add()
        (DRIVERS / "igbvf/unbind").write_text(device.name)
        (DRIVERS / "igbvf/bind").write_text(device.name)
        lent.delete()
        return lent.faults("its kernel driver was loaded again")


def swallowed() -> list[str]:
    """A function in a namespace that outlives its pod comes home when that ends at last."""
    found = []
    with TemporaryDirectory() as directory, loan(_first_function(), Path(directory)) as lent:
        lent.add()
        with Path(f"/run/netns/{lent.site.pod}").open("rb"):  # as a process that hangs would
            ip("netns", "del", lent.site.pod)
            lent.forget()
            try:
                lent.delete(netns="")
                found.append("DEL succeeded although the function was away")
            except CniError as error:
                if error.kind is not CniErrorKind.TRY_AGAIN:
                    raise
        lent.delete(netns="")
        return found + lent.faults("its namespace ended late")


def _first_function() -> str:
    return function_names(card_names()[0])[0]


def _spoil(lent: Loan) -> None:
    """Change in the pod what a pod can change."""
    pod = lent.site.pod
    for change in (f"down mtu 1400 address {fresh_mac()} alias mine", "up name other"):
        ip("-n", pod, "link", "set", "net1", *change.split())
    with opened(pod) as rtnl:
        write_card(rtnl, "other", CardSettings({}, (0,)))


BEFORE_FUNCTIONS: Final = {"a card without functions": whole_card}
WITH_FUNCTIONS: Final = {
    "a function": function,
    "its kernel driver again": reloaded,
    "a namespace that outlives its pod": swallowed,
    **vf_parameter_cases.CASES,
}
