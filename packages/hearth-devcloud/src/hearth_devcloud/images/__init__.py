"""Images for sandbox servers: file trees that are built once and kept in a folder.

An image that `shelf` returns is always complete: its tree is built under another name and then
published by renaming a link. A tree that servers may still use is not removed before all servers
have ended.
"""
