"""Prepare: claims into plans when kubelet asks, and their release.

kubelet_calls       kubelet's calls, each claim on its own, within kubelet's time
preparer            a claim into plans, and back
claim_source        claims, read with the devices of this driver
booker, holders     its devices written down, unless another claim has one of them
limits              what a claim may take of a node
cdi, metadata       what a container gets: devices, environment, files about its devices
kubelet_checkpoint  what kubelet itself wrote down of pods and claims
"""
