"""Network interfaces for Kubernetes pods through Dynamic Resource Allocation."""

__version__ = "0.1.0.dev0"
