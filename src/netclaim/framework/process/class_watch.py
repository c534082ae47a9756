"""The DeviceClasses that a driver wants to know: one watch, for as long as the driver works.

Promise: the driver learns all of them whenever one has changed. A server that is away is waited
for, and what the driver has learned stays good meanwhile.
"""

from contextlib import aclosing

from netclaim.framework.contract import Driver
from netclaim.framework.kube_api import Api


async def follow_classes(driver: Driver, api: Api) -> None:
    """Follow the classes with the driver's labels until cancelled."""
    reflector = (await api()).watch_classes(driver.class_labels)
    async with aclosing(reflector.changes()) as changes:
        async for _ in changes:
            driver.learn_classes(tuple(reflector.store.values()))
