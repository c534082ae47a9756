"""The network driver as this process: its parts put together, until SIGTERM.

Promise: a driver that was retired and has released everything leaves nothing on the node, and there
is one line for each thing that was removed.
"""

import asyncio
from dataclasses import replace

from netclaim.cli.uninstalling import leave
from netclaim.framework import serve
from netclaim.framework.settings.flags import settings_of
from netclaim.framework.settings.sources import Followed, Resolved
from netclaim.kernel.host.sysctls.proc_sys import make_sysctls_writable
from netclaim.network.build import link_driver
from netclaim.network.settings import link_settings


def drive(followed: Followed) -> None:
    own, settings = link_settings(followed.started), settings_of(followed.started)
    make_sysctls_writable()
    driver = link_driver(own)

    def change(resolved: Resolved) -> None:
        driver.change(link_settings(resolved))

    if serve(driver, settings, replace(followed, change=change)):
        for line in asyncio.run(leave(settings, own.name, own.lease_dir)):
            print(line)
