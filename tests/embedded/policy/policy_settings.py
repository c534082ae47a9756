"""Attacks by what a claim sets beside its network, or by the plugin that this becomes."""

from typing import Any, Final

from tests.embedded.policy.policy_attack import Attack

MACVLAN: Final = {"type": "macvlan"}
MAC: Final = "02:42:0a:0a:01:07"
PRIVILEGED: Final = "needs the policy level privileged"
NOT_OWN: Final = "needs a link that the claim has to itself"
INSIDE: Final = "overlaps 192.0.2.0/24, the node's own network on the link 'uplink'"


def _both(
    name: str, key: str, value: Any, *says: str, device: str = "own1", share_id: str | None = None
) -> dict[str, Attack]:
    """The same attack by a parameter and by a plugin of the claim's own network."""
    plugin = {"type": "link-settings", key: value}
    return {
        f"{name}, beside the network": Attack(
            plugins=(MACVLAN,),
            beside={key: value},
            device=device,
            share_id=share_id,
            says=(f"parameters.{key}", *says),
        ),
        f"{name}, by a plugin": Attack(
            plugins=(MACVLAN, plugin),
            device=device,
            share_id=share_id,
            says=(f"plugins[1].{key}", *says),
        ),
    }


SETTINGS: Final = {
    **_both(
        "a route to the node's neighbours",
        "routes",
        [{"destination": "192.0.2.128/25"}],
        INSIDE,
        device="uplink",
    ),
    **_both(
        "a gateway among the node's neighbours",
        "routes",
        [{"destination": "10.0.0.0/8", "gateway": "192.0.2.1"}],
        INSIDE,
        device="uplink",
    ),
    **_both(
        "everything, by a table that comes before the primary network",
        "routes",
        [{"destination": "0.0.0.0/0", "table": 100}],
        INSIDE,
        device="uplink",
    ),
    **_both(
        "a neighbour in place of another tenant",
        "neighbors",
        [{"destination": "10.10.1.9", "hardwareAddr": MAC}],
        NOT_OWN,
        device="shared1",
        share_id="a1b2",
    ),
    **_both(
        "offloads of a shared link",
        "ethtool",
        {"features": {"rx-lro": False}},
        NOT_OWN,
        device="shared1",
        share_id="a1b2",
    ),
    **_both("flags of a card's driver", "ethtool", {"privateFlags": {"x": True}}, PRIVILEGED),
    **_both(
        "sizes on a shared link", "gsoMaxSize", 9000, NOT_OWN, device="shared1", share_id="a1b2"
    ),
    **_both("the programs that guard a link", "disableEbpfPrograms", True, PRIVILEGED),
    "a thousand routes": Attack(
        plugins=(MACVLAN,),
        beside={"routes": [{"destination": "10.0.0.0/8"}] * 100},
        says=("parameters.routes: has 100 entries; at most 64 are possible",),
    ),
}
