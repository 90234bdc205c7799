"""Requests of the cfn API signed as guests and AWS clients do it, made from their description."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote, unquote, urlsplit

import requests

SCOPE = "RegionOne/cloudformation/aws4_request"


class Signer:
    """A key pair, and the base of the API that it is for."""

    def __init__(self, url: str, access: str, secret: str) -> None:
        self.url, self.access, self.secret = url, access, secret

    def ask(self, action: str, *, verb: str = "GET", **params: str) -> requests.Response:
        """An action of the query API, signed by version 2."""
        return self.send(self.version_2(verb, {"Action": action, **params}), verb)

    def send(self, params: Mapping[str, str], verb: str = "GET") -> requests.Response:
        if verb == "GET":
            return requests.get(self.url, params=params, timeout=20)
        return requests.post(self.url, data=params, timeout=20)

    def version_2(self, verb: str, params: Mapping[str, str]) -> dict[str, str]:
        """The parameters with those of the signature; the time is now unless it is given."""
        signed = {
            "AWSAccessKeyId": self.access,
            "SignatureMethod": "HmacSHA256",
            "SignatureVersion": "2",
            "Timestamp": stamp(),
            **params,
        }
        at = urlsplit(self.url)
        text = f"{verb}\n{at.netloc.lower()}\n{unquote(at.path)}\n{query(signed)}"
        made = hmac.new(self.secret.encode(), text.encode(), hashlib.sha256).digest()
        return {**signed, "Signature": base64.b64encode(made).decode()}

    def version_1(self, params: Mapping[str, str]) -> dict[str, str]:
        """The same by version 1: names and values in a row, whatever the case of the names."""
        signed = {"AWSAccessKeyId": self.access, "SignatureVersion": "1", **params}
        text = "".join(name + signed[name] for name in sorted(signed, key=str.lower))
        made = hmac.new(self.secret.encode(), text.encode(), hashlib.sha1).digest()
        return {**signed, "Signature": base64.b64encode(made).decode()}

    def version_4_header(
        self, verb: str, params: Mapping[str, str], body: bytes = b"", date: str | None = None
    ) -> dict[str, str]:
        """The headers of a request signed by version 4; parameters of a POST are in the body."""
        date = date or datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        covered = "" if verb == "POST" else query(params)
        signature = self._version_4(verb, covered, f"x-amz-date:{date}\n", "host;x-amz-date",
                                    date, hashlib.sha256(body).hexdigest())  # fmt: skip
        credential = f"{self.access}/{date[:8]}/{SCOPE}"
        return {
            "X-Amz-Date": date,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={credential}, "
            f"SignedHeaders=host;x-amz-date, Signature={signature}",
        }

    def version_4_query(self, params: Mapping[str, str], date: str | None = None) -> dict[str, str]:
        """The parameters of a GET with the signature among them."""
        date = date or datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        signed = {
            **params,
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Credential": f"{self.access}/{date[:8]}/{SCOPE}",
            "X-Amz-Date": date,
            "X-Amz-SignedHeaders": "host",
        }
        empty = hashlib.sha256(b"").hexdigest()
        made = self._version_4("GET", query(signed), "", "host", date, empty)
        return {**signed, "X-Amz-Signature": made}

    def _version_4(
        self, verb: str, covered: str, headers: str, names: str, date: str, body_hash: str
    ) -> str:
        at, scope = urlsplit(self.url), f"{date[:8]}/{SCOPE}"
        lines = [verb, at.path, covered, f"host:{at.netloc}\n{headers}", names, body_hash]
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{digest}"
        key = ("AWS4" + self.secret).encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def query(params: Mapping[str, str]) -> str:
    pairs = sorted((quote(k, safe="-_~"), quote(v, safe="-_~")) for k, v in params.items())
    return "&".join(f"{name}={value}" for name, value in pairs)


def stamp(before_s: float = 0) -> str:
    """A time as version 2 gives it, so many seconds ago."""
    at = datetime.fromtimestamp(datetime.now(UTC).timestamp() - before_s, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
