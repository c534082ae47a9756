"""Options that several commands have, declared once.

files      which manifests a command reads, and where it writes them
cluster    which cluster it asks
policy     the driver's policy
settings   the driver's settings
trial      of `try` and `demo`
formats    of `--output`
page       where the page in the browser is served
"""
