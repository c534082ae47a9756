"""Another kernel than that of the machine, in a virtual machine."""
