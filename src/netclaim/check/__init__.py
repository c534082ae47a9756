"""Findings in manifests: what a cluster or the driver would refuse, each at its file and line.

    report         all files together            objects           one object by itself
    parameters     for our driver                references        between objects
    policy         by an admin's policy          subject           what a claim asks for
    hints          what may have been meant

No cluster is needed, nor asked.
"""
