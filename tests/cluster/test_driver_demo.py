"""The demo of the KubeCon talk, as its slides print it, on a real cluster."""

from lab.cluster import Lab
from lab.kubectl import Kubectl
from tests.cluster.demo import applied_demo, check_demo


def test_fifteen_macvlans_on_the_node_that_has_eth1(lab: Lab, admin: Kubectl, driver: str) -> None:
    """15 pods run on kind-worker with net1 and distinct addresses; nothing of it outlasts them."""
    with applied_demo(admin):
        check_demo(lab, admin, driver)
