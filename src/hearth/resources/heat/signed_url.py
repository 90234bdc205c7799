"""URLs that need no token: signed URLs of the CloudFormation-style API and temporary URLs of
Swift.
"""

import base64
import hashlib
import hmac
from urllib.parse import quote, unquote, urlsplit

from hearth.resources.base import ResourceContext

NEVER = 4_102_444_800  # 2100-01-01, the end of temporary URLs


def signed_url(ctx: ResourceContext, access: str, secret: str, kind: str) -> str:
    """Return a signed URL of the CloudFormation-style API for this resource.

    `access` and `secret` are the key pair of the resource's stack user. `kind` is signal (for a
    POST) or waitcondition (for a PUT). The signature has no expiry time, because a server may take
    hours to boot before it signals.
    Source: docs/spec/software-config.md, section 7.
    """
    stack = ctx.stack
    base = stack.waitcondition_url.replace("/waitcondition", f"/{kind}")
    if not base:
        base = f"{stack.cfn_url.rstrip('/')}/{kind}"
    base = base.lower()
    verb = "PUT" if kind == "waitcondition" else "POST"
    path = f"{base}/{quote(resource_name(ctx), safe='')}"
    params = {
        "SignatureMethod": "HmacSHA256",
        "SignatureVersion": "2",
        "AWSAccessKeyId": access,
    }
    params["Signature"] = signature(verb, path, params, secret)
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in sorted(params.items()))
    return f"{path}?{query}"


def signature(verb: str, url: str, params: dict[str, str], secret: str) -> str:
    """Return the signature of a request, as AWS signature version 2 defines it.

    It covers the verb, the host, the unquoted path and the parameters.
    """
    parts = urlsplit(url)
    query = "&".join(
        f"{quote(name, safe='-_~')}={quote(value, safe='-_~')}"
        for name, value in sorted(params.items())
    )
    text = "\n".join([verb, parts.netloc.lower(), unquote(parts.path), query])
    digest = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def resource_name(ctx: ResourceContext) -> str:
    """Return the ARN of the resource; the resource's name is percent-encoded."""
    stack = ctx.stack
    path = f"stacks/{stack.name}/{stack.id}/resources/{quote(ctx.name, safe='')}"
    return f"arn:openstack:heat::{stack.project_id}:{path}"


def native_url(ctx: ResourceContext, *, own_project: bool = False) -> str:
    """Return the URL at which the Orchestration API accepts signals for this resource.

    The URL contains the stack's domain project or, if `own_project` is true, the project of the
    stack's owner.
    """
    stack = ctx.stack
    base = stack.heat_url.rstrip("/")
    if not own_project and stack.user_project_id and base.endswith(f"/{stack.project_id}"):
        base = f"{base.removesuffix(stack.project_id)}{stack.user_project_id}"
    name = quote(ctx.name, safe="")
    return f"{base}/stacks/{quote(stack.name)}/{stack.id}/resources/{name}/signal"


def temporary_url(
    account_url: str, key: str, container: str, name: str, *, ends: int, verb: str = "PUT"
) -> str:
    """Return a temporary URL with which to call the method `verb` for an object.

    `account_url` is the URL of the Swift account, and `key` is one of its keys for temporary URLs.
    `ends` is the expiry in seconds since 1970.
    """
    parts = urlsplit(account_url)
    path = f"{parts.path}/{quote(container)}/{quote(name)}"
    text = f"{verb}\n{ends}\n{unquote(path)}"
    digest = hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
    return f"{parts.scheme}://{parts.netloc}{path}?temp_url_sig={digest}&temp_url_expires={ends}"
