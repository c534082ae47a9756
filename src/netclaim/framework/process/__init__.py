"""The driver as a process: its parts put together, and the life around them.

wiring           the parts of a served driver, chosen and put together
leader           what runs while this process does the node's work
handover, relay  two processes of a driver during an update
driver_thread    hooks that may block, on an event loop of their own
watchdog, http   whether the event loops run; health and metrics over HTTP
http_access      who may read these from outside the node
rights           rights that the driver lacks, by what the API server refuses
node_watch       the node as the API server describes it
class_watch      the DeviceClasses that a driver wants to know
node_places      where a driver keeps its files and sockets on a node
runtime_callers  what has to be on the node so that the runtime can call
"""
