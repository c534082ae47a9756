"""What is not netlink.

netns               network namespaces
sysfs, rdma         a link's hardware, and the files of its RDMA devices
port_names          which links stand for a function in their card's switch
sriov               a card's virtual functions, and their number
sysctl, proc_sys    the kernel's settings, and making them writable
link_sysctls        all settings of one link
nftables            packet rules
tun                 tap links
bpf                 programs that see a link's packets
syscalls            what Python does not offer of the kernel
threads, closing    blocking work in a thread; `close` by `with`
boot                which boot of the machine this is
"""
