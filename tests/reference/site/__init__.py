"""Namespaces, plugins and cases for the comparison with the reference plugins."""
