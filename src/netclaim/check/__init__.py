"""Findings in manifests: what a cluster or the driver would refuse, each at its file and line.

    report          all files together
    objects         each object by itself, as an API server judges it
    unknown_fields  fields that a kind does not have, and which may have been meant
    networks        PodNetworks, and what the controller makes of them
    pools           AddressPools, and networks that want addresses of one
    services        Services that name a network
    references      what objects say of each other
    pod_templates   pods that objects of other groups describe
    annotated       pods whose networks are in Multus' annotation
    parameters      what the driver would refuse
    claims          what claims ask for: policy, selectors, and a made-up allocation

No cluster is needed, and none is asked.
"""
