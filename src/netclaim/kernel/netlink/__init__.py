"""Netlink: bytes, a client of rtnetlink, and the kernel's numbers."""
