"""Types of the cluster service."""
