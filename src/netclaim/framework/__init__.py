"""The reusable DRA driver framework: the contract, and the stages around it.

    contract     what an author writes, and what the framework promises
    discover     devices as they change            publish   devices into ResourceSlices
    prepare      claims into plans, and back       answer    kubelet's calls, in its time
    preflight    whether a claim could be prepared, before its pod is bound to the node
    attach       plans into pods, and back         hooks     the runtime's calls, in its time
    report       outcomes into claims' status      repair    what was cut short, or slipped through
    collect      what nobody explains any more     serve     all of it, until SIGTERM
    journal      what must survive                 store     the file that it is in
    fairness     hooks that failed slowly          places    whose turn it is to be prepared
    limits       what a claim may take              rates     how often something may happen
    own_loop     hooks that may block              watchdog  whether the event loops come round
    metrics      what is counted                   traces    a claim's way, for a collector
    subject      whom a log line is about
    settings     what can be set, each once        reload    their file, when it changes

`serve(MyDriver())` is a whole program. docs/framework.md lists what is public, and what stays.
"""

from netclaim.framework.contract import (
    Driver,
    LaterError,
    NetworkDriver,
    NotBegunError,
    UnfitError,
)
from netclaim.framework.serve import run_driver, serve
from netclaim.framework.setting_flags import add_flags, settings_from, settings_from_command_line
from netclaim.framework.settings import Settings

__all__ = [
    "Driver",
    "LaterError",
    "NetworkDriver",
    "NotBegunError",
    "Settings",
    "UnfitError",
    "add_flags",
    "run_driver",
    "serve",
    "settings_from",
    "settings_from_command_line",
]
