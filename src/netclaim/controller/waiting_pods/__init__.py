"""Pods that wait on a node for their claims, or have lost what these gave them.

nudge      kubelet asks again for a pod whose claim can be prepared now
evictions  pods of claims that a rule finds, evicted in rounds
refused    the rule for pods that wait for refused claims, so that others get the devices
lost       the rule for pods whose interface was lost and did not come back
"""
