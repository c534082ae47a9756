"""Pods that wait on a node for their claims.

nudge    kubelet asks again for a pod whose claim can be prepared now
refused  pods that wait for refused claims, evicted so that others get the devices
"""
