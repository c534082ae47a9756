"""The pages' commands, and the wheel."""
