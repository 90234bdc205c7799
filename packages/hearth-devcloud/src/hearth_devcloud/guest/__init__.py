"""What a server (guest) sees of its cloud: the metadata service, the config drive, and agents.

The content of metadata service and config drive is computed from the store for each request. The
package does not depend on how requests reach it.
"""
