"""Images for sandbox servers: each has its own file tree, which is built once and kept in a folder.

Invariant: what `shelf` returns is complete. A tree is built under another name and becomes the
image by one rename. A tree that servers may still use is not removed before all servers have ended.
"""
