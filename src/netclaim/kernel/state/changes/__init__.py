"""What changes in the kernel: announced, noticed, waited for.

monitor        links, addresses and numbers of namespaces, as they change
route_changes  whether a route has changed since one last asked
waiting        until the kernel has done what it does in its own time
"""
