"""The keys by which host-device has a card treat a virtual function: `vf`.

    vf: {vlan: 100, qos: 3, spoofCheck: true, trust: false, maxTxRate: 1000, linkState: auto}

No I/O. Whether the card can do it, it says when it is asked.
"""

from typing import Annotated, Final

from netclaim.kernel.state.card.vf_settings import (
    LINK_STATES,
    PROTOCOLS,
    VfRates,
    VfSettings,
    VfVlan,
)
from netclaim.plugins.engine.conf import U32, VLAN_ID_MAX, Conf
from netclaim.plugins.engine.errors import ConfError
from netclaim.plugins.engine.key_rules import KeyRule

PRIORITY_MAX: Final = 7  # three bits of 802.1Q's tag


class VfKeys(Conf, frozen=True):
    """What the card shall do; what is left out stays as it is."""

    vlan: Annotated[
        U32 | None, KeyRule("the VLAN of all it sends and receives; 0: none", high=VLAN_ID_MAX)
    ] = None
    qos: Annotated[U32 | None, KeyRule("the priority in the VLAN's tag", high=PRIORITY_MAX)] = None
    proto: Annotated[str, KeyRule("the protocol of the VLAN's tag", choices=tuple(PROTOCOLS))] = ""
    spoof_check: Annotated[
        bool | None, KeyRule("whether frames from a MAC that is not its own are dropped")
    ] = None
    trust: Annotated[bool | None, KeyRule("whether it may ask for what is meant for others")] = None
    min_tx_rate: Annotated[U32 | None, KeyRule("Mbit/s that it can send in any case")] = None
    max_tx_rate: Annotated[U32 | None, KeyRule("Mbit/s that it can send at most; 0: no limit")] = (
        None
    )
    link_state: Annotated[
        str,
        KeyRule("its carrier: that of the card, always or never", choices=tuple(LINK_STATES)),
    ] = ""

    def refuse(self) -> None:
        """Refuse a tag's parts without a VLAN, and a rate between no limits."""
        for key, value in (("qos", self.qos), ("proto", self.proto)):
            if value and self.vlan is None:
                raise ConfError("belongs to a VLAN: write vlan, too", path=(key,))
        if self.max_tx_rate and (self.min_tx_rate or 0) > self.max_tx_rate:
            raise ConfError("is more than maxTxRate", path=("minTxRate",))
        for key, value, known in (
            ("proto", self.proto, PROTOCOLS),
            ("linkState", self.link_state, LINK_STATES),
        ):
            if value and value not in known:
                raise ConfError(f"{value!r} is not one of {', '.join(known)}", path=(key,))

    def wanted(self, before: VfSettings) -> VfSettings:
        """The settings to make; what is half of one has its other half from `before`."""
        rates = before.rates or VfRates()
        limits = (self.min_tx_rate, self.max_tx_rate)
        return VfSettings(
            vlan=None
            if self.vlan is None
            else VfVlan(self.vlan, self.qos or 0, PROTOCOLS[self.proto or "802.1Q"]),
            spoof_check=self.spoof_check,
            trust=self.trust,
            rates=None
            if limits == (None, None)
            else VfRates(
                rates.least if self.min_tx_rate is None else self.min_tx_rate,
                rates.most if self.max_tx_rate is None else self.max_tx_rate,
            ),
            link_state=LINK_STATES.get(self.link_state),
        )
