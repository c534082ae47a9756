"""Which links' hardware a program may have on this node."""

from pathlib import Path
from typing import Final

import pytest

from netclaim.cni import parse_network
from netclaim.errors import HostError
from netclaim.model import Plan
from netclaim.network.errors import PlanRefusedError, PolicyError
from netclaim.network.links.node.node_links import Snapshot
from netclaim.network.plan.guard import Guard
from netclaim.network.plan.handover import check_handover
from netclaim.network.plan.interface_plan import InterfacePlan
from netclaim.network.request.into_config.wishes import Wishes
from netclaim.network.settings import LinkSettings, LiveSettings
from tests.support.network_parts import claim_of, link_of

LINK: Final = link_of("nothing-real", 7)
PLAIN: Final = {"cniVersion": "1.0.0", "name": "n", "type": "host-device"}
NODE: Final = Snapshot((LINK,), (), (), {}, {})
UPLINK: Final = Snapshot((LINK,), (), (), {}, {LINK.index: "the node's default route"})
WILLING: Final = LinkSettings(state_dir=Path("/nowhere"), vfio=True)
UNWILLING: Final = LinkSettings(state_dir=Path("/nowhere"))


@pytest.mark.parametrize(
    ("settings", "node", "error", "said"),
    [
        (UNWILLING, NODE, HostError, "set vfio: true in the driver's settings"),
        (WILLING, UPLINK, PolicyError, "carries the node (the node's default route)"),
        (WILLING, NODE, HostError, "it is no PCI function by itself"),
    ],
)
async def test_what_a_program_may_not_have(
    settings: LinkSettings, node: Snapshot, error: type[Exception], said: str
) -> None:
    """The node's owner has to be willing, and the node not to live on the link."""
    network = parse_network(PLAIN | {"vfio": True})
    with pytest.raises(error) as caught:
        await check_handover(network, LINK, node, settings)
    assert said in str(caught.value)
    await check_handover(parse_network(PLAIN), LINK, UPLINK, UNWILLING)


def test_a_link_that_became_the_nodes_own_is_not_given_away() -> None:
    """Not even where an admin's class says so."""
    guard = Guard(LiveSettings(WILLING))
    claim = claim_of()
    interface = InterfacePlan(
        if_name="net1",
        config=PLAIN | {"device": LINK.name},
        link=LINK.name,
        level="privileged",
        trusted=True,
        wishes=Wishes(vfio=True),
    )
    plan = Plan(claim.ref, claim.devices[0], network=interface.to_json())
    guard.check_plan(plan, interface, NODE)
    with pytest.raises(PlanRefusedError, match="carries the node"):
        guard.check_plan(plan, interface, UPLINK)
