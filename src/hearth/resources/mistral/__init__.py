"""Types over the workflow service."""
