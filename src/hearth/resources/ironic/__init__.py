"""Types of the bare metal service."""
