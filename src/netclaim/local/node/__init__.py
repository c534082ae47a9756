"""A node of the embedded cluster: kubelet and runtime around the real driver.

driver_process   the driver itself, a program in the node's namespaces
drivers          registration: kubelet finds drivers by their sockets
claims           what kubelet has drivers prepare and release, and when
sandboxes        the runtime: pods' namespaces, and NRI
kubelet          pods up and down
pod_status       what kubelet writes about a pod
"""
