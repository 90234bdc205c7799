"""A minimal Kubernetes for tests: an API with nodes, pods and namespaces, and a node agent.

Pods are only bound to nodes; no containers run. The package imports only the standard library and
itself, because sandbox servers get a copy of it as `/etc/hearth_kubernetes`.
"""
