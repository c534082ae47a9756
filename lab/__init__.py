"""The lab: a real multi-node Kubernetes in namespaces on one machine, without a container engine.

A node is a process 1 with its own network, mount, PID and host-name namespaces; containerd and
kubelet run inside, as on any node. Everything of a node ends with its process 1, so `down` is sure.
Not part of the wheel. `docs/lab.md` is the guide, `python -m lab --help` the reference.
"""
