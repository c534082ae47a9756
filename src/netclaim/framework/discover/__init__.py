"""Discover: the driver's devices as they change, and how healthy they are."""
