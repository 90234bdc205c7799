"""Sandbox servers: each is a set of Linux namespaces over the machine's own file tree.

Invariant: nothing outlives the keeper, the first process of a separate pid namespace. It holds the
servers' processes, mounts, disks and interfaces, and ends with the process that started it.
`driver` and its imports run in the process of the cloud. `keeper` and its imports run inside the
namespaces and use only the standard library. This isolation is for convenience; it is not a
security boundary.
"""
