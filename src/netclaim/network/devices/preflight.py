"""Which links are offered with binding conditions, so that their claims are checked beforehand.

The scheduler takes the conditions from the device, not from the class; a class chooses by the
attribute `preflight` whether its claims get such a link. Promise: every device has the attribute.
No I/O; the framework's own `preflight` gives the verdicts.
"""

import fnmatch
from collections.abc import Sequence
from typing import Final

import msgspec

from netclaim.model import Device
from netclaim.network.devices.device import PREFLIGHT

PASSED: Final = "PreflightPassed"
FAILED: Final = "PreflightFailed"


def with_conditions(device: Device, patterns: Sequence[str]) -> Device:
    """The device, with conditions if one of the patterns fits its link."""
    link = str(device.attributes.get("name", device.name))
    if not any(fnmatch.fnmatchcase(link, pattern) for pattern in patterns):
        if device.attributes.get(PREFLIGHT) is False:
            return device
        return msgspec.structs.replace(device, attributes={**device.attributes, PREFLIGHT: False})
    return msgspec.structs.replace(
        device,
        attributes={**device.attributes, PREFLIGHT: True},
        binding_conditions=(PASSED,),
        binding_failure_conditions=(FAILED,),
    )
