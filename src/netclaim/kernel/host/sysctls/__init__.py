"""The kernel's settings below /proc/sys.

sysctl        as they are in one network namespace
link_sysctls  all settings of one link, read and set again
proc_sys      making them writable for this process and what it executes
"""
