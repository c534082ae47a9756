"""Pods whose networks are named in Multus' annotation, as they are: each gets a claim that says so.

    names       labels, annotations and names, as the chart's admission policies have them
    readings    networks as they were read, each version once
    wanted      the claim of a pod, from its annotation and the networks there are
    mirror      the annotation in which Multus reports networks, from the claim's status
    told        events, each once
    pods        each pod: its claim, the annotation, and an event where neither can be had
    networks    PodNetworks of NetworkAttachmentDefinitions whose namespace an admin trusts

Admission gives such a pod a claim of a template that never exists, and takes the annotation out of
Multus' sight; see charts/netclaim/templates/annotated-pods.yaml and docs/decisions.
"""
