"""A stand-in for Kubernetes: an API with nodes, pods and namespaces, and a program that reports a
node.

Invariant: the package uses only the standard library and itself, because servers that run have a
copy of it as `/etc/hearth_kubernetes`. Pods run nothing; they are only assigned to nodes.
"""
