"""What the owner of a stack knows: its rows in memory, what is wanted of it, how it is reached.

Nothing here starts anything. Imports run down: context, access, aim, world, memory.
"""
