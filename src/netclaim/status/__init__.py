"""What there is and who uses it: drivers, nodes, links, claims, pods and their interfaces.

    objects        what is read of the API's objects
    compose        a status, put together from objects
    parts          what it is put together of: devices, claims, pods, nodes, problems
    values         what is shown, which is also the JSON
    scope          which part was asked for
    watching       asking a cluster, once or again at every change
    showing        text as wide as the terminal, JSON and YAML
    node_view      what kubelet, the API and the driver's journal say of one node

Nothing here changes what it looks at.
"""
