"""Types of the workflow service."""
