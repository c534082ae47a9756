"""The messages on the wire: against bytes from kubelet's own types, and there and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaim.kubelet import DRA_APIS, HEALTH_APIS, V1, V1BETA1, DraApi, HealthApi
from netclaim.kubelet.proto import registration_pb2 as registration_pb
from netclaim.model.on_node.prepared import ClaimRef, PrepareAnswer, PreparedDevice

# Made by kubelet 1.36.4's Go types, with fields in order and maps sorted by key.
PLUGIN_INFO = (
    "0a09445241506c7567696e12036e65741a0b2f612f6472612e736f636b"
    "220c76312e445241506c7567696e2211763162657461312e445241506c7567696e"
)
REGISTRATION_STATUS = "0801120165"
REQUEST = "0a170a0764656661756c7412077569642d7265641a03726564"
PREPARED_V1 = (
    "0a100a087569642d626c7565120412026e6f0a2b0a077569642d726564"
    "12200a1e0a036e657412066e6f64652d311a04657468312205612f623d632a027331"
)
PREPARED_V1BETA1 = (
    "0a100a087569642d626c7565120412026e6f0a270a077569642d726564"
    "121c0a1a0a036e657412066e6f64652d311a04657468312205612f623d63"
)
UNPREPARED = "0a100a087569642d626c756512040a026e6f0a0b0a077569642d7265641200"
HEALTH = "0a190a0e0a066e6f64652d3112046574683110021807201e2a016d"

ANSWERS = {
    "uid-blue": PrepareAnswer(error="no"),
    "uid-red": PrepareAnswer(
        devices=(PreparedDevice(("net",), "node-1", "eth1", ("a/b=c",), "s1"),)
    ),
}

names = st.text(max_size=8)
reasons = st.none() | st.text(min_size=1, max_size=8)
lists = st.lists(names, max_size=3).map(tuple)
refs = st.lists(st.builds(ClaimRef, names, names, names), max_size=4)
devices = st.builds(PreparedDevice, lists, names, names, lists, st.none() | names)
answers = st.dictionaries(
    names,
    st.one_of(
        st.builds(PrepareAnswer, st.lists(devices, max_size=3).map(tuple)),
        st.builds(PrepareAnswer, error=st.text(min_size=1, max_size=8)),
    ),
    max_size=4,
)


def test_registration_bytes() -> None:
    """Introduction and verdict are what kubelet's own types make of them."""
    info = registration_pb.PluginInfo(
        type="DRAPlugin",
        name="net",
        endpoint="/a/dra.sock",
        supported_versions=["v1.DRAPlugin", "v1beta1.DRAPlugin"],
    )
    status = registration_pb.RegistrationStatus(plugin_registered=True, error="e")
    assert info.SerializeToString().hex() == PLUGIN_INFO
    assert status.SerializeToString().hex() == REGISTRATION_STATUS


@pytest.mark.parametrize("api", DRA_APIS, ids=lambda api: api.version)
def test_request_bytes(api: DraApi) -> None:
    """Both requests of both versions have the same bytes as kubelet's."""
    ref = ClaimRef(uid="uid-red", namespace="default", name="red")
    assert api.prepare_request([ref]).SerializeToString().hex() == REQUEST
    assert api.unprepare_request([ref]).SerializeToString().hex() == REQUEST


@pytest.mark.parametrize(("api", "expected"), [(V1, PREPARED_V1), (V1BETA1, PREPARED_V1BETA1)])
def test_prepared_bytes(api: DraApi, expected: str) -> None:
    """The answer to prepare has the bytes of kubelet's type of that version."""
    response = api.prepare_response(ANSWERS)
    assert response.SerializeToString(deterministic=True).hex() == expected


@pytest.mark.parametrize("api", DRA_APIS, ids=lambda api: api.version)
def test_unprepared_bytes(api: DraApi) -> None:
    """The answer to unprepare has the same bytes in both versions."""
    response = api.unprepare_response({"uid-blue": "no", "uid-red": None})
    assert response.SerializeToString(deterministic=True).hex() == UNPREPARED


@pytest.mark.parametrize("api", HEALTH_APIS, ids=lambda api: api.version)
def test_health_bytes(api: HealthApi) -> None:
    """The health fields have kubelet's numbers in both versions, the two newest included."""
    health_pb = api.messages
    response = health_pb.NodeWatchResourcesResponse(
        devices=[
            health_pb.DeviceHealth(
                device=health_pb.DeviceIdentifier(pool_name="node-1", device_name="eth1"),
                health=health_pb.UNHEALTHY,
                last_updated_time=7,
                health_check_timeout_seconds=30,
                message="m",
            )
        ]
    )
    assert response.SerializeToString().hex() == HEALTH


def test_names_on_the_wire() -> None:
    """A method's path carries the package; only for health that is the announced version."""
    assert V1.path("NodePrepareResources") == (
        "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources"
    )
    assert V1BETA1.path("NodeUnprepareResources") == (
        "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/NodeUnprepareResources"
    )
    assert [api.path for api in HEALTH_APIS] == [
        "/v1.DRAResourceHealth/NodeWatchResources",
        "/v1alpha1.DRAResourceHealth/NodeWatchResources",
    ]


@given(api=st.sampled_from(DRA_APIS), asked=refs)
def test_references_there_and_back(api: DraApi, asked: list[ClaimRef]) -> None:
    """Any list of claims is read as it was written."""
    for made in (api.prepare_request(asked), api.unprepare_request(asked)):
        assert api.refs(type(made).FromString(made.SerializeToString())) == tuple(asked)


@given(given_answers=answers)
def test_v1_answers_there_and_back(given_answers: dict[str, PrepareAnswer]) -> None:
    """In v1 any answer is read as it was given, an empty share id included."""
    made = V1.prepare_response(given_answers)
    assert V1.prepare_answers(type(made).FromString(made.SerializeToString())) == given_answers


@given(given_answers=answers)
def test_v1beta1_answers_are_v1_answers_without_shares(
    given_answers: dict[str, PrepareAnswer],
) -> None:
    """A v1 reader takes v1beta1 bytes: all is there but the share ids."""
    sent = V1BETA1.prepare_response(given_answers).SerializeToString()
    read = V1.prepare_answers(V1.messages.NodePrepareResourcesResponse.FromString(sent))
    assert read == V1BETA1.prepare_answers(V1BETA1.prepare_response(given_answers))
    assert {device.share_id for answer in read.values() for device in answer.devices} <= {None}


@given(api=st.sampled_from(DRA_APIS), errors=st.dictionaries(names, reasons, max_size=4))
def test_release_errors_there_and_back(api: DraApi, errors: dict[str, str | None]) -> None:
    """Any outcome of a release is read as it was given."""
    made = api.unprepare_response(errors)
    assert api.unprepare_errors(type(made).FromString(made.SerializeToString())) == errors
