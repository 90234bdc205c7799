"""Use cases of the cluster service."""
