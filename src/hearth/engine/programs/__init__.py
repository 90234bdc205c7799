"""Programs of stacks: compile templates, cache them, and evaluate them without blocking the event
loop.

The engine's workers and the use cases share this package. It uses only the revisions of the store,
and no cloud.
"""
