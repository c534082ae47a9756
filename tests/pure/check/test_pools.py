"""AddressPools in manifests, and the networks that want addresses of one."""

import pytest

from tests.pure.check.test_check import CLAIM, CLASS, lines

POOL = """\
apiVersion: cni.networking.x-k8s.io/v1alpha1
kind: AddressPool
metadata: {name: media}
spec:
  ranges:
  - {cidr: 10.10.1.0/24, gateway: 10.10.1.1}
"""
NETWORK = """\
apiVersion: cni.networking.x-k8s.io/v1alpha1
kind: PodNetwork
metadata: {name: media-net}
spec:
  type: macvlan
  parent: {name: eth1}
  ipam: {type: netclaim, pool: media}
"""
CHAINED = """\
apiVersion: cni.networking.x-k8s.io/v1alpha1
kind: PodNetwork
metadata: {name: media-net}
spec:
  type: cni
  parent: {name: eth1}
  config:
    cniVersion: 1.0.0
    name: media-net
    plugins:
    - {type: macvlan, ipam: {type: netclaim, pool: media}}
    - {type: tuning}
"""
OWN = CLAIM.replace("- type: macvlan\n", "- {type: macvlan, ipam: {type: netclaim, pool: media}}\n")
OPEN = POOL.replace("spec:\n", "spec:\n  namespaces: {matchLabels: {team: media}}\n")
NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: default, labels: {team: media}}
"""
ABSENT = 'no AddressPool "media" in these files; it must already be in the cluster'


def test_right_ones_pass() -> None:
    """A network and its pool; a claim's own network, where the pool is for its namespace."""
    assert lines(POOL, NETWORK) == lines(POOL, CHAINED) == []
    assert lines(OPEN, NAMESPACE, CLASS, OWN) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("gateway", "gatewy", 'unknown field "gatewy"; did you mean "gateway"?'),
        ("10.10.1.1}", "10.10.2.1}", "must be an address in 10.10.1.0/24"),
        ("10.10.1.0/24", "10.10.1.7/24", "must be a network without host bits"),
        (
            "gateway: 10.10.1.1",
            "start: 10.10.1.9, end: 10.10.1.3",
            "no address is left for pods between start and end",
        ),
    ],
)
def test_what_the_controller_would_not_use(old: str, new: str, said: str) -> None:
    """One mistake, at the line of the range."""
    (line,) = lines(POOL.replace(old, new))
    assert line.startswith("x:6: error: spec.ranges[0]")
    assert said in line


@pytest.mark.parametrize(
    ("network", "place"),
    [
        (NETWORK, "x:7: warning: spec.ipam.pool"),
        (CHAINED, "x:11: warning: spec.config.plugins[0].ipam.pool"),
    ],
)
def test_a_network_names_a_pool_that_is_not_there(network: str, place: str) -> None:
    """It may be in the cluster; of one that is nearly right in the files, its name is said."""
    assert lines(network) == [f"{place}: {ABSENT}"]
    (line,) = lines(network, POOL.replace("media", "medai"))
    assert line == f'{place}: no AddressPool "media" in these files; did you mean "medai"?'


def test_a_class_names_a_pool_that_is_not_there() -> None:
    """It is said once, at the class, and not at each of its claims."""
    config = OWN[OWN.index("    config:") :].replace("    - requests: [nic]\n      ", "    - ")
    shorter = "\n".join(line[2:] for line in config.splitlines() if "ifName" not in line)
    claim = CLAIM[: CLAIM.index("    config:")]
    named = (
        f"{claim}    config:\n"
        """\
    - requests: [nic]
      opaque:
        driver: cni.dra.networking.x-k8s.io
        parameters: {apiVersion: cni.networking.x-k8s.io/v1alpha1, kind: CNI, ifName: net1}
"""
    )
    found = lines(f"{CLASS}{shorter}\n", named)
    assert len(found) == 1
    assert found[0].endswith(f"plugins[0].ipam.pool: {ABSENT}")
    assert ": warning: spec.config[0]" in found[0]


def test_a_claims_own_network_names_a_pool() -> None:
    """One that is not there, not for claims, or not for the namespace."""
    (line,) = lines(CLASS, OWN)
    assert "warning" in line
    assert line.endswith(f"plugins[0].ipam.pool: {ABSENT}")
    (line,) = lines(CLASS, OWN, POOL)
    assert "error" in line
    assert "the pool media is for networks that an admin wrote" in line
    (line,) = lines(CLASS, OWN, OPEN, NAMESPACE.replace("team: media", "team: other"))
    assert "error" in line
    assert "the namespace default may not have addresses of the pool media" in line


COUNTED = """\
    - name: address
      exactly:
        deviceClassName: addresses.media
        tolerations: [{key: cni.networking.x-k8s.io/address-pool, operator: Exists}]
"""


def test_a_claim_for_an_address_beside_the_link() -> None:
    """Its parameters are for the link alone; the class is there with the pool."""
    everybody = "    config:\n    - opaque"
    own = OWN.replace("    config:\n    - requests: [nic]\n      opaque", f"{COUNTED}{everybody}")
    assert own.count(everybody) == 1
    assert lines(OPEN, NAMESPACE, CLASS, own) == []
    found = lines(OPEN.replace("name: media}", "name: medai}"), NAMESPACE, CLASS, own)
    assert 'no DeviceClass "addresses.media"' in found[0]
    assert found[0].endswith('did you mean "addresses.medai"?')
