"""Many lives of pods, and nothing that grows or stays."""
