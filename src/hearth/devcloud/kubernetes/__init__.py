"""A stand-in for Kubernetes: an API with nodes, pods and namespaces, and what reports a node.

Invariant: the package is for the standard library and imports nothing but itself, because servers
that run have a copy of it as `/etc/hearth_kubernetes`. Pods run nothing; they only have a node.
"""
