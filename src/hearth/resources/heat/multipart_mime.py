"""OS::Heat::MultipartMime: several texts for cloud-init in one document.

Source: docs/spec/software-config.md, section 1.
"""

import os.path
from email.message import Message
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import ResourceContext
from hearth.resources.heat.multipart import multipart, parts_of, text_part
from hearth.resources.heat.software_config import ConfigResource, config_or_text
from hearth.resources.heat.software_io import UNGROUPED
from hearth.schema import LIST, MAP, STRING, AllowedValues, Prop, Support


class MultipartMime(ConfigResource):
    """Texts and configurations for cloud-init, stored as a MIME multipart document."""

    type_name = "OS::Heat::MultipartMime"
    support = Support(version="2014.1")
    properties = {
        "group": Prop(
            STRING,
            "Name of the hook on the server that applies the configuration.",
            default=UNGROUPED,
            support=Support(version="14.0.0"),
        ),
        "parts": Prop(
            LIST,
            "The parts.",
            default=[],
            schema=Prop(
                MAP,
                schema={
                    "config": Prop(
                        STRING, "The text, or the id of a software configuration.", required=True
                    ),
                    "filename": Prop(STRING, "File name of the attachment."),
                    "subtype": Prop(
                        STRING, "Its MIME subtype; the file name without its ending if not given."
                    ),
                    "type": Prop(
                        STRING,
                        "multipart: the parts of the multipart document are added one by one.",
                        default="text",
                        constraints=(AllowedValues(["text", "multipart"]),),
                    ),
                },
            ),
        ),
    }

    async def content(self, ctx: ResourceContext) -> Any:
        parts: list[str] = []
        for entry in ctx.given("parts") or ():
            text = await config_or_text(ctx, entry["config"])
            if entry["type"] == "multipart":
                parts += [_taken_over(part) for part in parts_of(text) or ()]
            else:
                parts.append(_part(entry, text))
        return multipart(parts)


def _part(entry: Body, text: str) -> str:
    name = entry.get("filename")
    return text_part(text, entry.get("subtype") or os.path.splitext(name or "")[0] or "plain", name)


def _taken_over(part: Message) -> str:
    """Convert a part of another multipart document to a part of this document.

    As in Heat, a text with a transfer encoding stays encoded, but the header that names the
    encoding is lost.
    """
    payload = part.get_payload()
    if not isinstance(payload, str):
        return part.as_string()
    return text_part(payload, part.get_content_subtype(), part.get_filename())
