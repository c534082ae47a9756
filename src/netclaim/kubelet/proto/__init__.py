"""Kubelet's services as generated modules, each beside its .proto (see scripts/gen_proto.py)."""
