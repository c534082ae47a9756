"""The programs that the lab runs: what is pinned, how it is built, and where it lies.

Beside the modules: `pins.yaml`, and for each compiled part a directory with its go.mod and go.sum.
"""
