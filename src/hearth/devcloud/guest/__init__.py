"""A guest's view of its cloud: the metadata service and the config drive.

Invariant: all content is rendered from the store on request; no state is kept, and the transport to
the guest is not known here.
"""
