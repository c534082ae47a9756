"""Service: what is read of one, in manifests and in the cluster."""

from collections.abc import Mapping

import msgspec

from netclaim.model.api.base import Base, Meta

HEADLESS = "None"  # as spec.clusterIP has it


class ServicePort(Base, frozen=True):
    """A port of a Service; `target_port` is a port's number or its name in the pod."""

    port: int
    name: str = ""
    protocol: str = "TCP"
    app_protocol: str | None = None
    target_port: int | str = 0  # neither 0 nor "": the same as `port`


class ServiceSpec(Base, frozen=True):
    """What a Service asks for."""

    type: str = "ClusterIP"
    cluster_ip: str = msgspec.field(default="", name="clusterIP")
    selector: Mapping[str, str] = {}
    ports: tuple[ServicePort, ...] = ()
    publish_not_ready_addresses: bool = False

    @property
    def is_headless(self) -> bool:
        """Whether it has no address of its own, only those of its pods."""
        return self.cluster_ip == HEADLESS


class ServiceMeta(Meta, frozen=True, kw_only=True):
    """Who a Service is."""

    labels: Mapping[str, str] = {}


class Service(Base, frozen=True):
    """A Service object."""

    metadata: ServiceMeta
    spec: ServiceSpec = ServiceSpec()
