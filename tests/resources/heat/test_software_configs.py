"""What the types of software configurations send, and what they show."""

import asyncio
from email import message_from_string

import pytest
import yaml

from hearth.cloud.contract import Response
from hearth.cloud.fault import NotFound
from hearth.resources.registry import builtin_types
from tests.resources.fake import context_of

ID = "6c0d9e3e-0000-4000-8000-000000000001"


class Shelf:
    """A cloud that only has software configurations, and keeps what is sent."""

    def __init__(self, **configs):
        self.configs, self.sent = configs, None

    async def request(self, service, method, path, *, json=None):
        assert service == "orchestration"
        if method == "POST":
            assert path == "/software_configs"
            self.sent = json
            return Response(200, body={"software_config": {**json, "id": ID}})
        ident = path.removeprefix("/software_configs/")
        if ident not in self.configs:
            raise NotFound(service, "no such config")
        return Response(200, body={"software_config": {"config": self.configs[ident]}})


def made(name, properties, **configs):
    shelf = Shelf(**configs)
    ctx = context_of(f"OS::Heat::{name}", properties, cloud=shelf)
    result = asyncio.run(ctx.kind.create(ctx))
    assert result.physical_id == ID
    ctx.body = result.body
    return shelf.sent, ctx.kind.recordable(ctx)


def parts(text):
    found = message_from_string(text).get_payload()
    return [
        (part.get_content_type(), part.get_filename(), part.get_payload(decode=True).decode())
        for part in found
    ]


@pytest.mark.parametrize(
    ("name", "given", "config"),
    [
        ("SoftwareConfig", {}, None),
        ("StructuredConfig", {"config": {"a": None}}, {"a": None}),
        ("CloudConfig", {}, "#cloud-config\n{}\n"),
        ("SoftwareComponent", {"configs": [{"tool": "x"}]}, ...),
    ],
)
def test_a_record_has_all_its_fields_and_a_generated_name(name, given, config):
    sent, _ = made(name, given)
    assert sent.keys() == {"name", "group", "config", "inputs", "outputs", "options"}
    assert sent["name"] == "web-thing-abc"
    assert sent["group"] == ("component" if name == "SoftwareComponent" else "Heat::Ungrouped")
    assert (sent["inputs"], sent["outputs"], sent["options"]) == ([], [], {})
    assert config in (..., sent["config"])


@pytest.mark.parametrize(
    ("kind", "default", "kept"),
    [
        ("Number", "12", 12),
        ("Boolean", "True", True),
        ("CommaDelimitedList", "a,b", ["a", "b"]),
        ("Json", '{"a": 1}', '{"a": 1}'),
        ("Number", "", ""),
        ("Number", None, ""),
        ("Number", "many", "many"),  # the service refuses it
    ],
)
def test_a_default_is_stored_as_its_type_says(kind, default, kept):
    given = {"inputs": [{"name": "a", "type": kind, "default": default}]}
    sent, _ = made("SoftwareConfig", given)
    assert sent["inputs"] == [{"name": "a", "type": kind, "description": "", "default": kept}]


def test_settings_for_cloud_init_are_yaml_below_its_line():
    sent, shown = made("CloudConfig", {"cloud_config": {"b": ["ä"], "a": {"c": 1}}})
    first, _, rest = sent["config"].partition("\n")
    assert first == "#cloud-config"
    assert yaml.safe_load(rest) == {"b": ["ä"], "a": {"c": 1}}
    assert shown == {"config": sent["config"]}


def test_a_part_is_a_text_or_the_text_of_a_configuration():
    inner, _ = made("MultipartMime", {"parts": [{"config": "1", "filename": "one.sh"}]})
    other, empty = ID.replace("1", "2"), ID.replace("1", "3")
    sent, _ = made(
        "MultipartMime",
        {
            "parts": [
                {"config": ID, "subtype": "x-shellscript"},
                {"config": other, "filename": "a.b.c"},
                {"config": "ä", "type": "text"},
                {"config": empty},
                {"config": inner["config"], "type": "multipart"},
                {"config": "no multipart", "type": "multipart"},
            ]
        },
        **{ID: "echo", empty: None},
    )
    assert parts(sent["config"]) == [
        ("text/x-shellscript", None, "echo"),
        ("text/a.b", "a.b.c", other),
        ("text/plain", None, "ä"),
        ("text/plain", None, ""),
        ("text/one", "one.sh", "1"),
    ]


def test_a_component_has_default_actions_and_shows_no_configuration():
    sent, shown = made("SoftwareComponent", {"configs": [{"tool": "script", "config": "a"}]})
    assert sent["config"] == {
        "configs": [{"actions": ["CREATE", "UPDATE"], "config": "a", "tool": "script"}]
    }
    assert shown == {"config": None}


@pytest.mark.parametrize("actions", [["UPDATE"], ["DELETE", "DELETE"]])
def test_an_action_has_one_configuration(actions):
    kind = builtin_types()["OS::Heat::SoftwareComponent"]
    first = {"tool": "a", "actions": ["CREATE", "UPDATE"]}
    (problem,) = kind.conflicts({"configs": [first, {"tool": "b", "actions": actions}]})
    assert actions[0] in str(problem)
    assert not list(kind.conflicts({"configs": [first, {"tool": "b", "actions": ["DELETE"]}]}))
