"""Programs of stacks: compile templates, cache them, and evaluate them without blocking the event
loop.

The engine's workers and the use cases share this package. Of the store it knows only revisions, and
it knows no cloud.
"""
