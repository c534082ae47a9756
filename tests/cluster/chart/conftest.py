"""A lab with the chart and its controller, for all modules that need no other."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.cluster import Lab
from lab.helm import Helm, load_driver_image
from lab.progress import Progress

READER = tuple(
    f"--set=metrics.readers[0].{key}={value}"
    for key, value in (("kind", "ServiceAccount"), ("namespace", "default"), ("name", "default"))
)
TOPOLOGY = """
nodes: [kind-control-plane, kind-worker, kind-worker2]
networks:
- name: primary
  subnet: 172.18.0.0/24
  links: {kind-control-plane: eth0, kind-worker: eth0, kind-worker2: eth0}
- name: media
  links: {kind-worker: eth1, kind-worker2: eth1}
"""


@pytest.fixture(scope="package")
def chart_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with the chart and its controller; two nodes have a link to a second network."""
    topology: Path = tmp_path_factory.mktemp("networks") / "topology.yaml"
    topology.write_text(TOPOLOGY)
    made = Lab(f"nets-{secrets.token_hex(3)}", Progress())
    made.up(topology, port=0)
    try:
        load_driver_image(made)
        Helm(made).install("--set=metrics.enabled=true", *READER)
        yield made
    finally:
        made.down()
