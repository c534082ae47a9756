"""NRI messages as our own values."""

from hypothesis import given, settings
from hypothesis import strategies as st

from netclaim.model.on_node.pod import PodSandbox
from netclaim.nri import Container, ContainerState
from netclaim.nri.proto import api_pb2 as pb
from netclaim.nri.values import (
    container_from_proto,
    container_to_proto,
    pod_from_proto,
    pod_to_proto,
    runtime_from_proto,
)

texts = st.dictionaries(st.text(), st.text(), max_size=3)
pods = st.builds(
    PodSandbox,
    netns=st.none() | st.text(min_size=1),
    labels=texts,
    annotations=texts,
    ips=st.lists(st.text(), max_size=2).map(tuple),
    pid=st.integers(0, 2**32 - 1),
    runtime_handler=st.text(),
)
containers = st.builds(
    Container, state=st.sampled_from(ContainerState), labels=texts, annotations=texts
)


@settings(deadline=None)
@given(pods)
def test_pod(pod: PodSandbox) -> None:
    """A sandbox is the same after its way through a message."""
    assert pod_from_proto(pb.PodSandbox.FromString(pod_to_proto(pod).SerializeToString())) == pod


@settings(deadline=None)
@given(containers)
def test_container(container: Container) -> None:
    """A container is the same after its way through a message."""
    data = container_to_proto(container).SerializeToString()
    assert container_from_proto(pb.Container.FromString(data)) == container


def test_netns() -> None:
    """The namespace is the one of type network; without a path it is the host's, which is none."""
    message = pb.PodSandbox()
    message.linux.namespaces.add(type="pid", path="/proc/7/ns/pid")
    assert pod_from_proto(message).netns is None
    network = message.linux.namespaces.add(type="network")
    assert pod_from_proto(message).netns is None
    network.path = "/run/netns/x"
    assert pod_from_proto(message).netns == "/run/netns/x"


def test_state_of_a_later_version() -> None:
    """A container state that we do not know is unknown."""
    message = pb.Container.FromString(b"\x20\x63")  # field 4, value 99
    assert container_from_proto(message).state is ContainerState.UNKNOWN


def test_runtime() -> None:
    """Configure tells milliseconds; a runtime that tells no timeout has containerd's 2 s."""
    assert runtime_from_proto(pb.ConfigureRequest(request_timeout=1500)).request_timeout_s == 1.5
    assert runtime_from_proto(pb.ConfigureRequest()).request_timeout_s == 2.0
    assert runtime_from_proto(pb.ConfigureRequest(request_timeout=-1)).request_timeout_s == 2.0
