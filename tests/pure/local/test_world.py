"""Where the embedded cluster puts things."""

import os
from pathlib import Path

from netclaim.kubelet import PluginSockets
from netclaim.local.cluster import KUBECONFIG
from netclaim.local.machine import NodePlace
from netclaim.local.node.driver_process import DriverOptions
from netclaim.local.topology import MAX_NODES
from netclaim.unix_socket import SOCKET_PATH_MAX


def test_sockets_fit_whatever_the_names() -> None:
    """The last node's sockets have paths that the kernel takes, for the longest driver's name."""
    place = NodePlace("n" * 52, MAX_NODES - 1)
    sockets = PluginSockets.under(place.kubelet_dir, "d" * 63)
    for path in (sockets.registration, sockets.dra, place.nri_socket):
        assert len(os.fsencode(path)) <= SOCKET_PATH_MAX


def test_driver_is_told_all_of_its_places() -> None:
    """Nothing of a driver's lies outside its node's directory."""
    place = NodePlace("n", 3)
    command = DriverOptions("d.x", KUBECONFIG, (Path("/opt/bin"),)).command(
        place, ["10.244.3.0/24"]
    )
    options = dict(word.split("=", 1) for word in command if "=" in word)
    for option in ("state-dir", "kubelet-dir", "nri-socket", "cdi-dir"):
        assert options[f"--{option}"].startswith("/run/3/")
    assert options["--pod-network"] == "10.244.3.0/24"
    assert options["--cni-bin-dir"] == "/opt/bin"
