"""The network driver: links as devices, claim parameters, interfaces in pods by CNI.

    build, driver    the driver from its settings, and what the framework calls of it
    attach, cleanup  what is done to a pod's interface beside CNI; what nobody uses any more
    pools            addresses that are leased for the whole cluster
    plan             what a device of a claim becomes
    judge            what was asked, held against the policy
    links, request   what the node has; what a claim asks for
    networks         the cluster's PodNetworks, and what they add to claims
    metrics          what the driver counts
    settings         what an admin can set
    pod_network      what a PodNetwork becomes: a class and claim templates
    policy, devices  what a claim may have; what a link is to the scheduler
    plugin_files     where plugins keep files for claims
    errors           what can go wrong

A line imports only what stands below it. This module imports none of them,
so that a command that needs one room does not load the driver.
"""

from typing import Final

DRIVER_NAME: Final = "cni.dra.networking.x-k8s.io"  # what manifests in the wild say
