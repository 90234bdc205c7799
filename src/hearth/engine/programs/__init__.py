"""Programs of stacks: templates compiled, cached, and computed where they keep nobody waiting.

The engine's workers and the use cases share it. It knows no rows but revisions, and no cloud.
"""
