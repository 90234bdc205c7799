"""Servers that run: each is a set of Linux namespaces over the machine's own tree.

Invariant: nothing outlives the keeper, the first process of a pid namespace of its own. It holds
the servers' processes, mounts, disks and interfaces, and ends with the process that started it.

`driver` and what it imports run in the process of the cloud; `keeper` and what it imports run
inside the namespaces and use the standard library alone. This is isolation for convenience, not a
security boundary.
"""
