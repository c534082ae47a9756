"""What `ethtool` switches on a card, by a claim's parameters: only a card has flags of its own."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from netclaim.kernel import open_netns
from netclaim.kernel.state.card.card_settings import CardSettings
from netclaim.network.policy.levels import LABEL
from tests.reference.site.cni_site import ip, namespace
from tests.reference.site.link_state import card
from tests.reference.site.plugin_state import differences
from tests.reference.site.vf_site import HOST, card_names
from tests.support.kernel_support import NETNS_DIRECTORY
from tests.support.link_parameters import claim_with
from tests.support.network_support import driver_for, plan_for, pod_of

FLAG: Final = "legacy-rx"  # of igb, its only one
PARAMETERS: Final = {"ethtool": {"privateFlags": {FLAG: True}, "features": {"rx-gro": False}}}
TRUSTED: Final = {LABEL: "privileged"}


def flags() -> list[str]:
    """They are switched while a pod has the card, and as they were when it is home."""
    name = card_names()[0]
    ip("link", "set", name, "up")
    with TemporaryDirectory() as directory, namespace() as pod:
        before = card(HOST, name)
        inside, home = asyncio.run(_lent(name, pod, Path(directory)))
    ip("link", "set", name, "down")
    return differences([0, 1], [_flags(before), _flags(inside)]) + differences(before, home)


async def _lent(name: str, pod: str, directory: Path) -> tuple[CardSettings, CardSettings]:
    driver = driver_for(directory, directory)
    plan = await plan_for(driver, claim_with(PARAMETERS, device=name, labels=TRUSTED))
    with open_netns(NETNS_DIRECTORY / pod) as netns:
        attachment = await driver.attach(plan, pod_of(netns))
        inside = card(pod, "net1")
        await driver.detach(attachment)
    return inside, card(HOST, name)


def _flags(found: CardSettings) -> int:
    return int.from_bytes(found.parts["private flags"], "little")


SWITCHED: Final = {"a card's private flags": flags}
