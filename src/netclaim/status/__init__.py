"""What there is and who uses it: drivers, nodes, links, claims, pods and their interfaces.

    objects        what is read of the API's objects     values     what is shown, and is the JSON
    devices        slices and pools, as devices          claims     as the driver reports them
    pods, nodes    with what they have                   problems   first, each with what to do
    compose        all of it, from objects               scope      which part was asked for
    tables, show   text as wide as the terminal, JSON    watching   again at every change
    node_view      what kubelet, the API and the driver's journal say of one node

Only looks.
"""
