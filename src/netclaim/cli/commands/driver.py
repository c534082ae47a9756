"""`netclaim driver`: the network driver of one node, until SIGTERM.

Promise: a bad value is refused before anything starts, in one line that names its option, or its
line in the file. Limit: the meaning, default and form of each setting are declared with the
settings; `driving` puts the parts together.
"""

from netclaim.cli.options.settings import SettingsCommand, takes_settings
from netclaim.framework.settings.sources import Followed

COMMAND_CLASS = SettingsCommand


@takes_settings()
def command(followed: Followed) -> None:
    """Run the network driver of one node.

    Publishes the node's links as devices, prepares claims on them for kubelet, and attaches them
    to pods as the container runtime starts them; runs until SIGTERM. Needs root, the node's
    network namespace and its NRI socket.

    Settings are taken from the options below, then from the environment variables beside them,
    then from the file that --config names, in this order; what none of them says has its default.
    The driver picks up changes of the file while it runs, and logs which of them need a restart.

    `netclaim driver gc` has the running driver remove what is left over on the node; `netclaim
    driver retire` is for the end of its pod; `netclaim driver uninstall` removes what a retired
    driver left there.
    """
    from netclaim.cli.driving import drive

    drive(followed)
