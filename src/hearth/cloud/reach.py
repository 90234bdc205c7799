"""How services of a cloud are reached: by which endpoints, and which certificates are believed."""

import ssl
from dataclasses import dataclass


@dataclass(frozen=True)
class Tls:
    """Certificates: of authorities that are believed, and one's own to show."""

    insecure: bool = False
    ca_file: str | None = None
    ca_text: str | None = None  # in its place, where it comes from a user
    cert_file: str | None = None
    key_file: str | None = None

    @property
    def verify(self) -> bool | str:
        """As keystoneauth and requests take it, who know no text."""
        return False if self.insecure else self.ca_file or True

    @property
    def cert(self) -> str | tuple[str, str] | None:
        """As keystoneauth and requests take it."""
        if self.cert_file and self.key_file:
            return self.cert_file, self.key_file
        return self.cert_file

    def context(self) -> ssl.SSLContext | bool:
        """As aiohttp takes it. Raises OSError (ssl.SSLError is one) for files that do not serve,
        and for such a text, or ValueError."""
        if self == Tls():
            return True
        found = ssl.create_default_context(cafile=self.ca_file, cadata=self.ca_text)
        if self.cert_file:
            found.load_cert_chain(self.cert_file, self.key_file)
        if self.insecure:
            found.check_hostname = False
            found.verify_mode = ssl.CERT_NONE
        return found


@dataclass(frozen=True)
class Reach:
    """How one service is reached; None is as all the others."""

    interface: str | None = None  # public, internal or admin
    region: str | None = None
    tls: Tls | None = None
