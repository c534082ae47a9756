"""Readers of metrics and traces."""
