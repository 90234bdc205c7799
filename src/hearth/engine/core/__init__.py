"""Decisions: what a stack needs and what may start next.

Invariant: values in, values out. No I/O, no clock, no random source: times, ids and random numbers
are arguments.
"""
