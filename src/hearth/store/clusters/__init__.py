"""The rows of the cluster service: clusters, node groups, templates, secrets and tasks."""
