"""Plan: what a device of a claim becomes, decided in prepare and judged again before ADD.

planner          makes a plan, or says what speaks against it
interface_plan   the plan of one interface, as the journal keeps it
container_edits  what containers get besides the interface
network_share    whether a claim has more of a link than its PodNetwork says
handover         whether a program may have a link's hardware
rdma_plan        what a claim gets of an RDMA device that has no link
guard            whether the policy of this node allows a request or a plan
programs         whether a network's programs are installed and ready
"""
