"""What a handler says about a response that may be kept for the next equal request."""

from msgspec import Struct


class Lasting(Struct, frozen=True):
    """A response that depends only on the rows of a stack, on its caller and on the request.

    `fingerprint` is that of the rows, with or without those of the resources.
    """

    body: bytes
    fingerprint: int
    with_resources: bool
