"""What is not netlink.

netns               network namespaces
hardware            a link's hardware according to sysfs, virtual functions, RDMA devices
sysctls             the kernel's settings
nftables            packet rules
tun                 tap links
bpf                 programs that see a link's packets
syscalls            what Python does not offer of the kernel
threads, closing    blocking work in a thread; `close` by `with`
boot                which boot of the machine this is
"""
