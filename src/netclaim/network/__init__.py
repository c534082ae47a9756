"""The network driver: links as devices, claim parameters, interfaces in pods by CNI."""

from netclaim.network.build import link_driver
from netclaim.network.driver import LinkDriver
from netclaim.network.errors import LinkGoneError, NameTakenError, ParametersError
from netclaim.network.parameters import InterfaceRequest, read_claim
from netclaim.network.settings import DRIVER_NAME, LinkSettings

__all__ = [
    "DRIVER_NAME",
    "InterfaceRequest",
    "LinkDriver",
    "LinkGoneError",
    "LinkSettings",
    "NameTakenError",
    "ParametersError",
    "link_driver",
    "read_claim",
]
