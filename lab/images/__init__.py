"""Container images, built without a container engine."""
