"""Rung three: against the CNI project's own plugin binaries."""
