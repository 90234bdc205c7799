"""Types of the container service."""
