"""Links: which the node has, which are offered, and as which devices.

offered            all of the following for one driver: what it offers, and changes of it
discover           the links as devices, again whenever they change
node               the links as they are
withhold           kinds that cannot be used, and links that are the node's own
node_dependencies  links that the node depends on
offering           which links are offered, for how many claims, and as which networks
rdma_devices       RDMA devices that have no link
card_functions     how many virtual functions cards have
function_drivers   taints of functions that lost their kernel driver
carrier            taints while a link's carrier is lost
remembered         links that went into pods, and bridges that plugins made

A new kind of link is offered unless `withhold` says otherwise; whether several claims can have one
at a time is decided by `SHAREABLE_KINDS` in `devices/shares`.
"""
