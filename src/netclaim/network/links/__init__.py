"""Links: which the node has, which are offered, and as which devices.

node_links, discover          the links as they are now, and again whenever they change
choice, offer                 which links are offered, and for how many claims
withhold, node_dependencies   links that are the node's own, and links that it depends on
health, carrier               taints while a link's carrier is lost
lent, made_bridges            links that went into pods, and bridges that plugins made
last_speeds, pod_namespaces   what is remembered of links, and where pods are
"""
