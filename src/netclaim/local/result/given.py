"""A device without an interface that a pod got, and what it gives to the pod's containers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GivenDevice:
    """A device of a claim, and what it gives to containers."""

    name: str
    driver: str
    request: str
    claim: str
    containers: tuple[str, ...] = ()  # that name the request; no others get anything
    env: tuple[str, ...] = ()
    device_nodes: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()

    @property
    def edits(self) -> tuple[str, ...]:
        """All that a container gets, in words."""
        return (
            *(f"env {one}" for one in self.env),
            *(f"device {one}" for one in self.device_nodes),
            *(f"mount {one}" for one in self.mounts),
        )
