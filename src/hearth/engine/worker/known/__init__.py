"""What the owner of a stack knows: its rows, the aim of its operation, and its cloud.

This package starts nothing. Imports run down: context, access, aim, world, memory.
"""
