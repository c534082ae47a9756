"""The addresses that a call asks for, where plugins that manage addresses read them."""

from typing import Annotated

from netclaim.plugins.engine.conf import Conf
from netclaim.plugins.engine.key_rules import KeyRule


class AskedAddresses(Conf, frozen=True):
    """What stands under `args.cni`, and comes by capability."""

    ips: Annotated[tuple[str, ...], KeyRule("addresses to assign")] = ()


class AskedArgs(Conf, frozen=True):
    """What stands under `args`."""

    cni: AskedAddresses = AskedAddresses()
