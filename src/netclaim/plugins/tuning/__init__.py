"""tuning: settings of a link that another plugin made, and of its container's network.

tuning   the plugin
sysctls  the kernel settings that it is asked for
backup   how a link was before
"""
