"""Rung four: on the lab, a real Kubernetes."""
