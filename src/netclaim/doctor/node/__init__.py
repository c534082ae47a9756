"""The checks of a node.

sight            what the checks look at: files, sockets and processes
driver           the driver's process, its journal and its disk
kubelet          its directories and its health, and whether it has found the driver
runtime          the container runtime: version, network, NRI and CDI
cni              the runtime's network list, our entry in it, and the programs it names
network_types    which CNI plugins a network names
kernel           privileges, kinds of links, limits of bandwidth, packet rules
system           namespaces of pods, open files and the clock
"""
