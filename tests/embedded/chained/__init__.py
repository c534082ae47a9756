"""The chained plugin as a program."""
