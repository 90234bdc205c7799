"""The state of a stack that its owner keeps in memory: its rows, the aim of its operation, its
cloud.

This package starts no work by itself. Imports go in one direction: context, access, aim, world,
memory.
"""
