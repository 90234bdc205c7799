"""Releases side by side on one database."""
