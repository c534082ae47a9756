"""What Multus reads, as Multus reads it.

annotation  a pod's wish for networks
definition  a network: the CNI configuration that Multus runs for it
plugins     which of its plugins netclaim runs as Multus had them run
workloads   which networks pods ask for, and the claims that take their place
strangers   what is not converted, and why
"""
