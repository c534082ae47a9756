"""Links: which the node has, which are offered, and as which devices.

offered                       all of the following for one driver: what it offers, and changes of it
node_links, discover          the links as they are now, and again whenever they change
live_links, described         links by the kernel's announcements, and the devices made of them
choice, offer                 which links are offered, and for how many claims
networks                      PodNetworks as devices, each on its links
withhold                      kinds that cannot be used, and links that are the node's own
card_functions                how many virtual functions cards have
node_dependencies             links that the node depends on
health, carrier               taints while a link's carrier is lost
lent, made_bridges            links that went into pods, and bridges that plugins made
places, last_speeds           the order of devices, and what is remembered of links
pod_namespaces                where pods are

A new kind of link is offered unless `withhold` says otherwise; whether several claims can have one
at a time is decided by `SHAREABLE_KINDS` in `devices/shares`.
"""
