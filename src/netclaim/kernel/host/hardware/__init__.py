"""What sysfs says of the hardware behind a link.

sysfs       the hardware itself, as a value
sriov       a card's virtual functions, and their number, which can be changed
port_names  which links stand for a function in their card's switch
vfio        functions that programs drive, by the kernel driver vfio-pci
rdma        RDMA devices, and the files by which programs use one
"""
