"""Computation and check of AWS signatures: versions 0, 1, 2 and 4, and those of S3 requests."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote


def _hmac(key: bytes, text: str | bytes, digest: str = "sha256") -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return hmac.new(key, data, digest).digest()


def version_0(secret: str, params: Mapping[str, str]) -> str:
    """Return the signature, version 0: base64 of the HMAC over action and time only."""
    text = f"{params.get('Action', '')}{params.get('Timestamp', '')}"
    return base64.b64encode(_hmac(secret.encode(), text, "sha1")).decode()


def version_1(secret: str, params: Mapping[str, str]) -> str:
    """Return the signature, version 1: base64 of the HMAC over all parameters."""
    names = sorted((name for name in params if name != "Signature"), key=str.lower)
    text = "".join(f"{name}{params[name]}" for name in names)
    return base64.b64encode(_hmac(secret.encode(), text, "sha1")).decode()


def version_2(secret: str, verb: str, host: str, path: str, params: Mapping[str, str]) -> str:
    """Return the signature, version 2: base64 of the HMAC over verb, host, path and parameters."""
    pairs = sorted((key, value) for key, value in params.items() if key != "Signature")
    query = "&".join(f"{quote(k, safe='')}={quote(str(v), safe='-_~')}" for k, v in pairs)
    text = f"{verb}\n{host}\n{path}\n{query}"
    digest = "sha1" if params.get("SignatureMethod") == "HmacSHA1" else "sha256"
    return base64.b64encode(_hmac(secret.encode(), text, digest)).decode()


def version_4_key(secret: str, scope: str) -> bytes:
    """Return the signing key of version 4 for a scope `date/region/service/aws4_request`."""
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = _hmac(key, part)
    return key


def version_4(
    secret: str,
    *,
    verb: str,
    path: str,
    params: Mapping[str, str],
    headers: Mapping[str, str],
    signed_headers: str,
    scope: str,
    date: str,
    body_hash: str,
) -> str:
    """Return the AWS Signature Version 4 of a request, in hexadecimal.

    It is the HMAC of the string to sign, which contains the hash of the canonical request. The
    query of a POST is not signed.
    """
    lower = {key.lower(): value for key, value in headers.items()}
    query = ""
    if verb.upper() != "POST":
        pairs = sorted((k, v) for k, v in params.items() if k != "X-Amz-Signature")
        query = "&".join(f"{quote(k, safe='~')}={quote(str(v), safe='~')}" for k, v in pairs)
    lines = [f"{name}:{lower.get(name, '').strip()}\n" for name in signed_headers.split(";")]
    request = "\n".join([verb.upper(), path, query, "".join(lines), signed_headers, body_hash])
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{digest}"
    return _hmac(version_4_key(secret, scope), text).hex()


def s3(secret: str, token: str) -> str:
    """Return the signature of an S3 request, in the version that its string to sign names.

    `token` is the string to sign in URL-safe base64, as `s3tokens` receives it.
    """
    text = base64.urlsafe_b64decode(token)
    if text.startswith(b"AWS4-HMAC-SHA256"):
        scope = text.split(b"\n")[2].decode()
        return _hmac(version_4_key(secret, scope), text).hex()
    return base64.b64encode(_hmac(secret.encode(), text, "sha1")).decode()


_AUTHORIZATION = re.compile(
    r"Credential=(?P<access>[^/,\s]+)/(?P<scope>[^,\s]+),\s*"
    r"SignedHeaders=(?P<signed>[^,\s]+),\s*Signature=(?P<signature>[0-9a-f]+)"
)


def verifies(secret: str, request: Mapping[str, Any]) -> bool:
    """Return whether a request was signed with this secret.

    `request` describes the request in the format of `ec2tokens`. Header names must have
    their usual capitalization, such as `X-Amz-Date`.
    """
    params, headers = request.get("params") or {}, request.get("headers") or {}
    verb, path = str(request.get("verb", "")), str(request.get("path", ""))
    match params.get("SignatureVersion"):
        case "0":
            return _equal(version_0(secret, params), request)
        case "1":
            return _equal(version_1(secret, params), request)
    match = _AUTHORIZATION.search(headers.get("Authorization", ""))
    if match is None and "X-Amz-Algorithm" not in params:
        return _verifies_2(secret, request, verb, path, params)
    if match is not None:
        scope, signed = match["scope"], match["signed"]
        signature, date = match["signature"], headers.get("X-Amz-Date", "")
    else:
        scope = str(params.get("X-Amz-Credential", "")).partition("/")[2]
        signed = str(params.get("X-Amz-SignedHeaders", ""))
        signature, date = str(request.get("signature")), str(params.get("X-Amz-Date", ""))
    expected = version_4(
        secret,
        verb=verb,
        path=path,
        params=params,
        headers=headers,
        signed_headers=signed,
        scope=scope,
        date=date,
        body_hash=str(request.get("body_hash") or headers.get("X-Amz-Content-Sha256", "")),
    )
    dated = date.startswith(scope.partition("/")[0])
    return dated and _equal(expected, {"signature": signature})


def _equal(expected: str, request: Mapping[str, Any]) -> bool:
    return hmac.compare_digest(expected.encode(), str(request.get("signature", "")).encode())


def _verifies_2(
    secret: str, request: Mapping[str, Any], verb: str, path: str, params: Mapping[str, str]
) -> bool:
    host = str(request.get("host", ""))
    hosts = [host, host.partition(":")[0]]
    return any(_equal(version_2(secret, verb, name, path, params), request) for name in hosts)
