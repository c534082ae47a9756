"""The engine: what a plugin type is, and how calls reach it.

plugin, engine               what a type is; serving its calls as a program would
program                      a plugin that is a program, called like one in process
conf, key_rules              reading a configuration; what its keys are
strict_values, unknown_keys  checking one before its first use
pod, errors                  the container's namespace; what goes wrong
"""
