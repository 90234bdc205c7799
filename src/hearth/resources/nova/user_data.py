"""The user data of servers: sent unchanged, or as a multipart document for cloud-init.

Source: docs/spec/software-config.md, section 8.
"""

import base64
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from hearth.model.json_text import parse_json
from hearth.resources.base import ResourceContext
from hearth.resources.heat.multipart import multipart, parts_of, text_part
from hearth.resources.heat.software_config import config_or_text

INIT_DATA = "x-cfninitdata"
CLOUD_CONFIG = """#cloud-config
user: ec2-user
output: {all: '| tee -a /var/log/cloud-init-output.log'}
"""
BOOTHOOK = """#!/bin/sh
# Directories and settings that later parts rely on.
umask 077
mkdir -p /var/lib/heat-cfntools /var/lib/cloud/data
[ -e /etc/boto.cfg ] || ln -s /var/lib/heat-cfntools/cfn-boto-cfg /etc/boto.cfg
exit 0
"""
PART_HANDLER = """#part-handler
import os

PLACES = ("/var/lib/heat-cfntools", "/var/lib/cloud/data")


def list_types():
    return ["text/x-cfninitdata"]


def handle_part(data, ctype, filename, payload):
    if ctype in ("__begin__", "__end__"):
        return
    raw = payload if isinstance(payload, bytes) else payload.encode("utf-8")
    for place in PLACES:
        os.makedirs(place, 0o700, exist_ok=True)
        path = os.path.join(place, os.path.basename(filename))
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as out:
            out.write(raw)
"""
RUNNER = """#!/bin/sh
# Runs the user data and keeps what it prints.
log=/var/log/heat-provision.log
script=/var/lib/cloud/data/cfn-userdata
umask 077
[ -f "$script" ] || exit 0
chmod 0700 "$script"
echo "provision began: $(date)" >>"$log"
if [ -s "$script" ]; then
    case "$(head -c 2 "$script")" in
        '#!') "$script" >>"$log" 2>&1 ;;
        *) /bin/sh "$script" >>"$log" 2>&1 ;;
    esac
fi
code=$?
echo "provision ended with $code: $(date)" >>"$log"
touch /var/lib/heat-cfntools/provision-finished
exit $code
"""
OURS = frozenset({"", CLOUD_CONFIG, BOOTHOOK, PART_HANDLER, RUNNER})


async def user_data(ctx: ResourceContext) -> str | None:
    """Return the user data to send, in base64, or None if there is none.

    If the property is the id of a software configuration, that configuration's text is used, except
    with the format HEAT_CFNTOOLS.
    """
    text = str(ctx.given("user_data") or "")
    match ctx.given("user_data_format"):
        case "RAW":
            return _encoded(await config_or_text(ctx, text))
        case "SOFTWARE_CONFIG":
            return _encoded(_software_config(await config_or_text(ctx, text), ctx))
        case _:
            return _encoded(_cfntools(text, ctx))


def _cfntools(text: str, ctx: ResourceContext) -> str:
    parts = [
        (CLOUD_CONFIG, "cloud-config", "cloud-config"),
        (BOOTHOOK, "cloud-boothook", "boothook.sh"),
        (PART_HANDLER, "part-handler", "part-handler.py"),
        (text, INIT_DATA, "cfn-userdata"),
        (RUNNER, "x-shellscript", "provision.sh"),
    ]
    if ctx.metadata:
        parts.append((_metadata(ctx), INIT_DATA, "cfn-init-data"))
    url = ctx.stack.metadata_url or ctx.stack.cfn_url
    if url:
        parts.append((url, INIT_DATA, "cfn-metadata-server"))
        parts.append((_boto(url), INIT_DATA, "cfn-boto-cfg"))
    return multipart(_parts(parts))


def _software_config(text: str, ctx: ResourceContext) -> str:
    ignition = _ignition(text)
    if ignition is not None:
        return _with_files(ignition, _metadata(ctx))
    ours = [
        (CLOUD_CONFIG, "cloud-config", "cloud-config"),
        (BOOTHOOK, "cloud-boothook", "boothook.sh"),
        (PART_HANDLER, "part-handler", "part-handler.py"),
    ]
    own_parts = parts_of(text)
    if own_parts is not None:
        parts = [part.as_string() for part in own_parts]
    else:
        kind = "x-shellscript" if text.startswith("#!") else "plain"
        parts = [text_part(text, kind, "userdata")] if text else []
    metadata = text_part(_metadata(ctx), INIT_DATA, "cfn-init-data")
    return multipart([*_parts(ours), *parts, metadata])


def _parts(parts: list[tuple[str, str, str]]) -> list[str]:
    """Convert each (text, subtype, file name) to a complete part of a multipart document."""
    return [_cached_part(*part) if part[0] in OURS else text_part(*part) for part in parts]


_cached_part = cache(text_part)  # Hearth's constant parts, cached for speed


def _metadata(ctx: ResourceContext) -> str:
    return json.dumps(ctx.metadata, sort_keys=True)


def _boto(url: str) -> str:
    """Return the configuration file for Boto, with which old tools find the CloudFormation-style
    API.
    """
    host = url.partition("//")[2].partition("/")[0]
    secure = 1 if url.startswith("https") else 0
    name, _, port = host.partition(":")
    lines = [
        "[Boto]",
        "debug = 0",
        f"is_secure = {secure}",
        "https_validate_certificates = 1",
        "cfn_region_name = heat",
        f"cfn_region_endpoint = {name}",
    ]
    return "\n".join([*lines, *([f"cfn_port = {port}"] if port else []), ""])


def _ignition(text: str) -> dict[str, Any] | None:
    try:
        document = parse_json(text)
    except ValueError:
        return None
    is_ignition = isinstance(document, dict) and isinstance(document.get("ignition"), dict)
    return document if is_ignition and document["ignition"].get("version") else None


def _with_files(ignition: dict[str, Any], metadata: str) -> str:
    coded = base64.b64encode(metadata.encode()).decode()
    files = [
        {
            "path": f"{folder}/cfn-init-data",
            "mode": 0o600,
            "contents": {"source": f"data:;base64,{coded}"},
        }
        for folder in ("/var/lib/heat-cfntools", "/var/lib/cloud/data")
    ]
    storage = dict(ignition.get("storage") or {})
    storage["files"] = [*(storage.get("files") or []), *files]
    return json.dumps({**ignition, "storage": storage})


def as_metadata(metadata: Mapping[str, Any] | None) -> dict[str, str]:
    """Convert metadata to text values for Nova; values other than text become JSON, null is left
    out.
    """
    return {
        str(key): value if isinstance(value, str) else json.dumps(value)
        for key, value in (metadata or {}).items()
        if value is not None
    }


def _encoded(text: str) -> str | None:
    return base64.b64encode(text.encode()).decode() if text else None
