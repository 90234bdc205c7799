"""Settings for access to the services of a cloud: endpoints and certificates."""

import ssl

from msgspec import Struct


class Tls(Struct, frozen=True):
    """The TLS settings: trusted certificate authorities, and a client certificate."""

    insecure: bool = False
    ca_file: str | None = None
    ca_text: str | None = None  # the text of the certificate, if it comes from a user
    cert_file: str | None = None
    key_file: str | None = None

    @property
    def verify(self) -> bool | str:
        """The argument `verify` of keystoneauth and requests. It cannot include `ca_text`."""
        return False if self.insecure else self.ca_file or True

    @property
    def cert(self) -> str | tuple[str, str] | None:
        """The client certificate, as the argument `cert` of keystoneauth and requests; None if
        there is none.
        """
        if self.cert_file and self.key_file:
            return self.cert_file, self.key_file
        return self.cert_file

    def context(self) -> ssl.SSLContext | bool:
        """Return the argument `ssl` of aiohttp.

        Raises OSError (such as ssl.SSLError) or ValueError for an invalid certificate.
        """
        if self == Tls():
            return True
        ssl_context = ssl.create_default_context(cafile=self.ca_file, cadata=self.ca_text)
        if self.cert_file:
            ssl_context.load_cert_chain(self.cert_file, self.key_file)
        if self.insecure:
            ssl_context.check_hostname = False
            ssl_context.verify_mode = ssl.CERT_NONE
        return ssl_context


class Reach(Struct, frozen=True):
    """The access settings of one service. None means the same setting as for other services."""

    interface: str | None = None  # public, internal or admin
    region: str | None = None
    tls: Tls | None = None
