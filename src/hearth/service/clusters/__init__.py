"""Use cases of the cluster service: what a caller may do with clusters, and what it then means."""
