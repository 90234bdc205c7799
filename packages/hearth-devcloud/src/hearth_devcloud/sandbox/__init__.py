"""Sandbox servers: servers of the embedded cloud that really run, in Linux namespaces.

A server uses the file tree of the machine or of an image. The keeper is the first process of a
separate pid namespace, and all processes, mounts, disks and interfaces of servers end with it. It
ends with the process that started it, so nothing is left over. `driver` and its imports run in the
process of the cloud; `keeper` and its imports run inside the namespaces and use only the standard
library. The isolation is not a security boundary.
"""
