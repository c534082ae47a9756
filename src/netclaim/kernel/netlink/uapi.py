"""The numbers of rtnetlink that we use, under the names of the kernel's user API headers.

Only numbers: they are part of the kernel's stable interface, so none of them ever changes.
Where they come from: linux/netlink.h, rtnetlink.h, if_link.h, if_addr.h, if_bridge.h,
net_namespace.h, fib_rules.h, pkt_sched.h, pkt_cls.h, rdma/rdma_netlink.h.
"""

from typing import Final

# Message types of every netlink family.
NLMSG_NOOP: Final = 1
NLMSG_ERROR: Final = 2
NLMSG_DONE: Final = 3
NLMSG_OVERRUN: Final = 4

# Message flags. Those of 0x100 and above mean something else for each kind of message.
NLM_F_REQUEST: Final = 0x1
NLM_F_ACK: Final = 0x4
NLM_F_ECHO: Final = 0x8  # the announcement to all also goes to the asker, under its sequence
NLM_F_DUMP_INTR: Final = 0x10
NLM_F_DUMP: Final = 0x300
NLM_F_REPLACE: Final = 0x100
NLM_F_APPEND: Final = 0x800
NLM_F_EXCL: Final = 0x200
NLM_F_CREATE: Final = 0x400
NLM_F_CAPPED: Final = 0x100  # on an ack: the request is not repeated in it
NLM_F_ACK_TLVS: Final = 0x200  # on an ack: attributes follow

NLMSGERR_ATTR_MSG: Final = 1

# Socket options, level SOL_NETLINK.
SOL_NETLINK: Final = 270
NETLINK_CAP_ACK: Final = 10
NETLINK_EXT_ACK: Final = 11
NETLINK_GET_STRICT_CHK: Final = 12

# Multicast groups, as bits for bind().
RTMGRP_LINK: Final = 0x1
RTMGRP_IPV4_IFADDR: Final = 0x10
RTMGRP_IPV4_ROUTE: Final = 0x40
RTMGRP_IPV6_IFADDR: Final = 0x100
RTMGRP_IPV6_ROUTE: Final = 0x400
RTMGRP_NSID: Final = 1 << 27
RTMGRP_NEXTHOP: Final = 1 << 31

RTM_NEWLINK: Final = 16
RTM_DELLINK: Final = 17
RTM_GETLINK: Final = 18
RTM_SETLINK: Final = 19
RTM_NEWADDR: Final = 20
RTM_DELADDR: Final = 21
RTM_GETADDR: Final = 22
RTM_NEWROUTE: Final = 24
RTM_DELROUTE: Final = 25
RTM_GETROUTE: Final = 26
RTM_NEWNEIGH: Final = 28
RTM_DELNEIGH: Final = 29
RTM_GETNEIGH: Final = 30
RTM_NEWRULE: Final = 32
RTM_DELRULE: Final = 33
RTM_GETRULE: Final = 34
RTM_NEWQDISC: Final = 36
RTM_DELQDISC: Final = 37
RTM_GETQDISC: Final = 38
RTM_NEWTCLASS: Final = 40
RTM_NEWTFILTER: Final = 44
RTM_DELTFILTER: Final = 45
RTM_GETTFILTER: Final = 46
RTM_DELNSID: Final = 89
RTM_GETNSID: Final = 90
RTM_NEWNEXTHOP: Final = 104
RTM_GETNEXTHOP: Final = 106
RTM_NEWLINKPROP: Final = 108
RTM_DELLINKPROP: Final = 109

IFLA_ADDRESS: Final = 1
IFLA_IFNAME: Final = 3
IFLA_MTU: Final = 4
IFLA_LINK: Final = 5
IFLA_MASTER: Final = 10
IFLA_WIRELESS: Final = 11
IFLA_TXQLEN: Final = 13
IFLA_OPERSTATE: Final = 16
IFLA_LINKMODE: Final = 17
IFLA_PROTINFO: Final = 12
IFLA_LINKINFO: Final = 18
IFLA_IFALIAS: Final = 20
IFLA_VFINFO_LIST: Final = 22
IFLA_AF_SPEC: Final = 26
IFLA_GROUP: Final = 27
IFLA_NET_NS_FD: Final = 28
IFLA_EXT_MASK: Final = 29
IFLA_PROMISCUITY: Final = 30
IFLA_CARRIER: Final = 33
IFLA_LINK_NETNSID: Final = 37
IFLA_PHYS_PORT_NAME: Final = 38
IFLA_PROTO_DOWN: Final = 39
IFLA_GSO_MAX_SEGS: Final = 40
IFLA_GSO_MAX_SIZE: Final = 41
IFLA_XDP: Final = 43
IFLA_PROP_LIST: Final = 52
IFLA_ALT_IFNAME: Final = 53
IFLA_PERM_ADDRESS: Final = 54
IFLA_PROTO_DOWN_REASON: Final = 55
IFLA_PARENT_DEV_NAME: Final = 56
IFLA_GRO_MAX_SIZE: Final = 58
IFLA_GSO_IPV4_MAX_SIZE: Final = 63
IFLA_GRO_IPV4_MAX_SIZE: Final = 64
IFLA_PROTO_DOWN_REASON_MASK: Final = 1
IFLA_PROTO_DOWN_REASON_VALUE: Final = 2

# Inside IFLA_VFINFO_LIST and each of its items; the last one is inside IFLA_VF_VLAN_LIST.
IFLA_VF_INFO: Final = 1
IFLA_VF_MAC: Final = 1
IFLA_VF_VLAN: Final = 2
IFLA_VF_SPOOFCHK: Final = 4
IFLA_VF_LINK_STATE: Final = 5
IFLA_VF_RATE: Final = 6
IFLA_VF_TRUST: Final = 9
IFLA_VF_VLAN_LIST: Final = 12
IFLA_VF_VLAN_INFO: Final = 1

IF_OPER_UP: Final = 6

# Inside IFLA_LINKINFO, and inside its IFLA_INFO_DATA for each kind of link.
IFLA_INFO_KIND: Final = 1
IFLA_INFO_DATA: Final = 2
IFLA_INFO_SLAVE_KIND: Final = 4
VETH_INFO_PEER: Final = 1
IFLA_MACVLAN_MODE: Final = 1
IFLA_MACVLAN_BC_QUEUE_LEN: Final = 7
IFLA_IPVLAN_MODE: Final = 1
IFLA_VLAN_ID: Final = 1
IFLA_VRF_TABLE: Final = 1
IFLA_BR_VLAN_FILTERING: Final = 7

# Of a bridge's port, inside IFLA_PROTINFO and IFLA_AF_SPEC (linux/if_link.h, if_bridge.h).
IFLA_BRPORT_MODE: Final = 4  # hairpin
IFLA_BRPORT_ISOLATED: Final = 33
IFLA_BRIDGE_FLAGS: Final = 0
IFLA_BRIDGE_VLAN_INFO: Final = 2
BRIDGE_FLAGS_MASTER: Final = 1
BRIDGE_VLAN_INFO_PVID: Final = 0x2
BRIDGE_VLAN_INFO_UNTAGGED: Final = 0x4
RTEXT_FILTER_VF: Final = 0x1
RTEXT_FILTER_BRVLAN: Final = 0x2
RTEXT_FILTER_SKIP_STATS: Final = 0x8

IFF_UP: Final = 0x1
IFF_DEBUG: Final = 0x4
IFF_LOOPBACK: Final = 0x8
IFF_NOTRAILERS: Final = 0x20
IFF_NOARP: Final = 0x80
IFF_PROMISC: Final = 0x100
IFF_ALLMULTI: Final = 0x200
IFF_MULTICAST: Final = 0x1000
IFF_PORTSEL: Final = 0x2000
IFF_AUTOMEDIA: Final = 0x4000
IFF_DYNAMIC: Final = 0x8000

ARPHRD_ETHER: Final = 1
ARPHRD_INFINIBAND: Final = 32

IFA_ADDRESS: Final = 1
IFA_LOCAL: Final = 2
IFA_BROADCAST: Final = 4
IFA_FLAGS: Final = 8

IFA_F_SECONDARY: Final = 0x1  # in IPv6: temporary
IFA_F_NODAD: Final = 0x2
IFA_F_DADFAILED: Final = 0x8
IFA_F_TENTATIVE: Final = 0x40
IFA_F_PERMANENT: Final = 0x80
IFA_F_NOPREFIXROUTE: Final = 0x200

RTA_DST: Final = 1
RTA_OIF: Final = 4
RTA_GATEWAY: Final = 5
RTA_PRIORITY: Final = 6
RTA_PREFSRC: Final = 7
RTA_METRICS: Final = 8
RTA_MULTIPATH: Final = 9
RTA_CACHEINFO: Final = 12
RTA_TABLE: Final = 15
RTA_VIA: Final = 18
RTA_EXPIRES: Final = 23
RTA_NH_ID: Final = 30

NDA_DST: Final = 1
NDA_LLADDR: Final = 2
NDA_IFINDEX: Final = 8
NDA_FLAGS_EXT: Final = 15
NUD_PERMANENT: Final = 0x80
NTF_PROXY: Final = 0x8

NHA_ID: Final = 1
NHA_GROUP: Final = 2
NHA_OIF: Final = 5
NHA_GATEWAY: Final = 6

RTAX_MTU: Final = 2
RTAX_ADVMSS: Final = 8

RT_SCOPE_UNIVERSE: Final = 0
RT_SCOPE_LINK: Final = 253
RT_SCOPE_HOST: Final = 254
RT_TABLE_UNSPEC: Final = 0  # in a question: all of them
RT_TABLE_MAIN: Final = 254
RT_TABLE_LOCAL: Final = 255  # the kernel's own
RTN_UNICAST: Final = 1
RTM_F_CLONED: Final = 0x200  # on a route: made up for one destination, not one to keep
RTPROT_REDIRECT: Final = 1
RTPROT_KERNEL: Final = 2
RTPROT_RA: Final = 9
RTPROT_BOOT: Final = 3  # what the routes of `ip route` and of the CNI plugins carry

FR_ACT_TO_TBL: Final = 1
FRA_DST: Final = 1
FRA_SRC: Final = 2
FRA_PRIORITY: Final = 6
FRA_TABLE: Final = 15

# Traffic control: handles, then attributes of every message, then of each kind inside TCA_OPTIONS.
TC_H_ROOT: Final = 0xFFFF_FFFF
TC_H_INGRESS: Final = 0xFFFF_FFF1
TCA_KIND: Final = 1
TCA_OPTIONS: Final = 2
TCA_TBF_PARMS: Final = 1
TCA_TBF_RATE64: Final = 4
TCA_HTB_PARMS: Final = 1
TCA_HTB_INIT: Final = 2
TCA_HTB_RATE64: Final = 6
TCA_HTB_CEIL64: Final = 7
TCA_U32_CLASSID: Final = 1
TCA_U32_SEL: Final = 5
TCA_U32_ACT: Final = 7
TC_U32_TERMINAL: Final = 1
TCA_ACT_KIND: Final = 1
TCA_ACT_OPTIONS: Final = 2
TCA_MIRRED_PARMS: Final = 2
TCA_EGRESS_REDIR: Final = 1
TC_ACT_STOLEN: Final = 4

NETNSA_NSID: Final = 1
NETNSA_FD: Final = 3

# RDMA devices have a protocol of their own. A message's type is its client and its command.
NETLINK_RDMA: Final = 20
RDMA_NL_CLIENT_BITS: Final = 10
RDMA_NL_NLDEV: Final = 5
RDMA_NLDEV_CMD_GET: Final = 1
RDMA_NLDEV_CMD_SET: Final = 2
RDMA_NLDEV_CMD_NEWLINK: Final = 3
RDMA_NLDEV_CMD_DELLINK: Final = 4
RDMA_NLDEV_CMD_SYS_SET: Final = 7
RDMA_NLDEV_ATTR_DEV_INDEX: Final = 1
RDMA_NLDEV_ATTR_DEV_NAME: Final = 2
RDMA_NLDEV_ATTR_NDEV_NAME: Final = 51
RDMA_NLDEV_ATTR_LINK_TYPE: Final = 65
RDMA_NLDEV_SYS_ATTR_NETNS_MODE: Final = 66
RDMA_NLDEV_NET_NS_FD: Final = 68
