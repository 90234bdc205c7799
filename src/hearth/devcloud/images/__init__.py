"""Images with a tree of files of their own, for servers that run: built once, kept in a folder.

Invariant: what `shelf` returns is complete. A tree is built aside and becomes an image by one
rename; a tree that servers may still use stays until none of them can be running.
"""
