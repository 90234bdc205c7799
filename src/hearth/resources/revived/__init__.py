"""Retired types that work through their successors, if the operator switches that on.

A type has the old name and the old properties. The setting [hearth] revive_retired_types puts it
into the catalogue in place of a placeholder. Records contain its kind, which is not its name: so a
placeholder stays a placeholder when the setting is switched on, and an object is deleted in the
cloud after it is switched off.
"""
