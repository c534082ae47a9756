"""netclaim: addresses of an AddressPool, which are leased for the whole cluster.

Configuration: `ipam.pool`, the name of the pool, and `ipam.routes`. The driver leases the addresses
when it prepares the claim, and runs `static` with them in the place of this. So there is nothing
to do here, and nothing that could be done: a plugin knows no claim. Promise: an ADD that reaches
this fails, and says so.
"""

from typing import Annotated

from netclaim.cni import Result, Route
from netclaim.model.devices.device_name import is_subdomain
from netclaim.plugins.engine.conf import Conf
from netclaim.plugins.engine.errors import ConfError, PluginError
from netclaim.plugins.engine.key_rules import KeyRule
from netclaim.plugins.engine.plugin import Invocation, Plugin

NOT_HERE = "addresses of a pool are leased when netclaim's driver prepares a claim, not by a plugin"


def check_pool(name: str) -> None:
    """Raise ConfError unless an AddressPool may have the name."""
    if not is_subdomain(name):
        raise ConfError(
            f"{name!r} cannot be the name of an AddressPool, which has small letters, digits, '-' "
            "and '.'; for example media"
        )


class PooledKeys(Conf, frozen=True):
    """What stands under `ipam`."""

    pool: Annotated[
        str,
        KeyRule("the AddressPool", check=check_pool, missing="write the name of an AddressPool"),
    ] = ""
    routes: Annotated[tuple[Route, ...], KeyRule("routes of the container, beside the pool's")] = ()


class Pooled(Plugin):
    ipam_conf = PooledKeys

    async def add(self, invocation: Invocation) -> Result:  # noqa: ARG002 -- in vain
        raise PluginError(NOT_HERE)

    async def delete(self, invocation: Invocation) -> None:
        """Nothing is kept here, so nothing is released."""

    async def check(self, invocation: Invocation) -> None:  # noqa: ARG002 -- in vain
        raise PluginError(NOT_HERE)
