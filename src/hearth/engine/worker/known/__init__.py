"""What the owner knows of a stack: its rows, the aim of its operation, and its cloud.

Nothing here starts anything. Imports run down: context, access, aim, world, memory.
"""
