"""The plugin types that are one module each."""
