"""The kubelet edge: a driver's side of registration, DRA v1 and v1beta1, and device health.

    plugin           the driver as kubelet sees it
    registration     how kubelet gets to know it; kubelet alone decides when it tries again
    dra, dra_api     preparing and releasing claims, in both versions of the API
    health           how each device is
    server, sockets  gRPC on the two Unix sockets
    client           kubelet's side of it
    pod_resources    which pods have which devices, by kubelet
    proto            the generated modules

`serve_plugin` is the driver's side; `register` and `DraClient` are kubelet's, for the embedded
cluster and for tests.
"""

from netclaim.kubelet.client import (
    DraClient,
    DriverCallError,
    DriverInfo,
    RegisteredDriver,
    ask_info,
    register,
)
from netclaim.kubelet.dra import ClaimService
from netclaim.kubelet.dra_api import DRA_APIS, V1, V1BETA1, DraApi
from netclaim.kubelet.health import (
    HEALTH_APIS,
    DeviceHealth,
    Health,
    HealthApi,
    HealthBoard,
)
from netclaim.kubelet.plugin import serve_plugin
from netclaim.kubelet.registration import Registration, RegistrationVerdict
from netclaim.kubelet.sockets import PluginSockets

__all__ = [
    "DRA_APIS",
    "HEALTH_APIS",
    "V1",
    "V1BETA1",
    "ClaimService",
    "DeviceHealth",
    "DraApi",
    "DraClient",
    "DriverCallError",
    "DriverInfo",
    "Health",
    "HealthApi",
    "HealthBoard",
    "PluginSockets",
    "RegisteredDriver",
    "Registration",
    "RegistrationVerdict",
    "ask_info",
    "register",
    "serve_plugin",
]
