"""Links of a lab's node that pods can take as a whole, one for each pod of the demo."""

import json
import os
import socket
import subprocess
import time
from typing import Any

from lab.cluster import Lab
from lab.drivers.driver import DEFAULT_DRIVER
from lab.nodes.linux import inside_network

__all__ = ["LINKS", "add_links", "at_home", "seconds_to_move", "with_whole_links"]

LINKS = 15
OTHER = "kind-control-plane"  # another node


def with_whole_links(objects: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the demo with a whole link for each pod in place of a macvlan."""
    copy: dict[str, dict[str, Any]] = json.loads(
        json.dumps(objects)
        .replace("macvlan-eth1-attachment", "whole-link")
        .replace("demo-application", "whole")
    )
    devices = copy["ResourceClaimTemplate"]["spec"]["spec"]["devices"]
    expression = f'device.attributes["{DEFAULT_DRIVER}"].name.startsWith("whole")'
    request = devices["requests"][0]
    request["selectors"] = [{"cel": {"expression": expression}}]
    del request["adminAccess"]
    request["capacity"] = {"requests": {"attachments": "2"}}  # the link alone
    network = {"cniVersion": "1.0.0", "name": "whole", "plugins": [{"type": "host-device"}]}
    devices["config"][0]["opaque"]["parameters"]["config"] = network
    return copy


def add_links(lab: Lab, node: str) -> None:
    """Give the node a link for each pod, whose other ends are on another node, as on a switch."""
    inits = lab.state.load().inits
    links, ends = ([f"{name}{number}" for number in range(LINKS)] for name in ("whole", "end"))
    with inside_network(inits[node]):
        for link, end in zip(links, ends, strict=True):
            pair = (link, "type", "veth", "peer", "name", end, "netns", str(inits[OTHER].pid))
            subprocess.run(["ip", "link", "add", *pair], check=True)
            subprocess.run(["ip", "link", "set", link, "up"], check=True)
    with inside_network(inits[OTHER]):
        for end in ends:
            subprocess.run(["ip", "link", "set", end, "up"], check=True)


def at_home(lab: Lab, node: str) -> int:
    """Return how many of the links the node has now."""
    with inside_network(lab.state.load().inits[node]):
        return sum(name.startswith("whole") for _, name in socket.if_nameindex())


def seconds_to_move(lab: Lab, node: str) -> float:
    """Return how long the kernel takes to move all links home from another namespace.

    Each in its turn, as it moves only one at a time.
    """
    init, away = lab.state.load().inits[node], f"bench-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", away], check=True)
    try:
        with inside_network(init):
            _move(away)
        started = time.monotonic()
        _move(str(init.pid), "-n", away)
        return time.monotonic() - started
    finally:
        subprocess.run(["ip", "netns", "delete", away], check=True)


def _move(netns: str, *options: str) -> None:
    lines = "\n".join(f"link set whole{number} netns {netns}" for number in range(LINKS))
    subprocess.run(["ip", *options, "-batch", "-"], input=lines.encode(), check=True)
