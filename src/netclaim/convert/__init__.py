"""From Multus to netclaim: networks and pods as Multus reads them, rewritten as claims.

    objects      all of it as one set
    multus       what Multus reads: networks, and pods' wishes for them
    whereabouts  the addresses of these networks
    dranet       claims for dranet, which stay claims
    written      the networks, pools and claims that take their place
    documents    the text of the files
    cluster      the same from a live cluster
    places       lines inside a text
    remarks      what is said about a field of the original

No file is written here, and nothing in a cluster is changed.
"""
