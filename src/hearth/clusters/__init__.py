"""The rules of the cluster service (the Magnum API), as pure functions on values.

They define clusters, cluster templates and node groups, the operations that each state allows, and
the stack that a cluster becomes. The package calls no database, cloud or clock; ids, times and
random numbers are arguments. Source: docs/spec/clusters.md.
"""
