"""What an admin can set about the controller. Values only."""

from dataclasses import dataclass
from typing import Final

from netclaim.network import DRIVER_NAME

HTTP_ADDRESS: Final = "127.0.0.1:9418"
DRIVER_PODS: Final = "app.kubernetes.io/name=netclaim"  # as the chart labels them
LEASE_NAME: Final = "netclaim-controller"


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """How a controller runs."""

    driver_name: str = DRIVER_NAME
    identity: str = ""  # of this replica
    lease_namespace: str = ""  # empty: there is only one replica, and no lease
    driver_namespace: str = ""  # of the drivers' pods; empty: their restarts are not noticed
    driver_pods: str = DRIVER_PODS  # their labels, as a selector
    template_namespace: str = ""  # whose annotated templates are copied; empty: none are
    # Whose NetworkAttachmentDefinitions are an admin's word; those of others are a tenant's.
    network_namespaces: frozenset[str] = frozenset()
    # Whether the scheduler gets to know how many addresses pools have, if the API server allows it.
    count_addresses: bool = True
