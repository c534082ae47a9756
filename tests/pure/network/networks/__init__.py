"""Tests of what a driver knows of the PodNetworks."""
