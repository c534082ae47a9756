"""The lab: a real multi-node Kubernetes in namespaces on one machine, without a container engine.

A node is a process 1 with its own network, mount, PID and host-name namespaces; containerd and
kubelet run inside, as on any node. Everything of a node ends with its process 1, so `down` is sure.
Not part of the wheel. `docs/lab.md` is the guide, `python -m lab --help` the reference.

    cli                            the commands
    cluster, topology              a lab as a whole, and what it looks like
    parts                          the programs that it runs, pinned, compiled once into the cache
    nodes                          what a node is: process 1, cables, components, certificates
    drivers                        netclaim, or another driver, on the nodes
    images                         container images, and netclaim's own
    guest                          another kernel, in a virtual machine
    api, kubectl, helm, traffic    what tests ask and measure
    multus                         the kind of networks that Multus has
    demo                           the demo of the KubeCon talk
    errors, progress               what it says
"""

from pathlib import Path

__all__ = ["CHECKOUT"]

CHECKOUT = Path(__file__).parent.parent
