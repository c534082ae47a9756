"""`netclaim driver`: the network driver of one node, until SIGTERM.

Promise: a bad value is refused before anything starts, in one line that names its option, or its
line in the file. Limit: this only puts the parts together; the meaning, default and form of each
setting are declared with the settings.
"""

import asyncio
from dataclasses import replace

from netclaim.cli.options.settings import SettingsCommand, takes_settings
from netclaim.cli.uninstalling import leave
from netclaim.framework import serve
from netclaim.framework.settings.flags import settings_of
from netclaim.framework.settings.sources import Followed, Resolved
from netclaim.kernel.host.proc_sys import make_sysctls_writable
from netclaim.network import LinkDriver, link_driver
from netclaim.network.settings import link_settings

COMMAND_CLASS = SettingsCommand


@takes_settings()
def command(followed: Followed) -> None:
    """Run the network driver of one node.

    Publishes the node's links as devices, prepares claims on them for kubelet, and attaches them
    to pods as the container runtime starts them; runs until SIGTERM. Needs root, the node's
    network namespace and its NRI socket.

    Settings are taken from the options below, then from the environment variables beside them,
    then from the file that --config names, in this order; what none of them says has its default.
    The driver picks up changes of the file while it runs, and logs which of them need a restart.

    `netclaim driver gc` has the running driver remove what is left over on the node; `netclaim
    driver retire` is for the end of its pod; `netclaim driver uninstall` removes what a retired
    driver left there.
    """
    own, settings = link_settings(followed.started), settings_of(followed.started)
    make_sysctls_writable()
    driver = link_driver(own)
    following = replace(followed, change=lambda resolved: _change(driver, resolved))
    if serve(driver, settings, following):
        for line in asyncio.run(leave(settings, own.name, own.lease_dir)):
            print(line)


def _change(driver: LinkDriver, resolved: Resolved) -> None:
    driver.change(link_settings(resolved))
