"""Computing what users wrote, where it keeps nobody waiting.

Small things are computed on the event loop, for a few milliseconds; whatever needs more is computed
in a process of its own, which has bounds on time and memory and can be killed.
"""
