"""What servers get as user data, by its format."""

import asyncio
import base64
import json
from email import message_from_string

import pytest

from hearth.resources.heat.multipart import multipart, text_part
from hearth.resources.nova.user_data import user_data
from hearth.resources.registry import builtin_types
from tests.resources.fake import context_of
from tests.resources.heat.test_software_configs import ID, Shelf

FORMATS = ["RAW", "SOFTWARE_CONFIG", "HEAT_CFNTOOLS"]
METADATA = {"role": "web"}


def sent(text, form, config=None):
    given = {"flavor": "f", "user_data": text, "user_data_format": form}
    shelf = Shelf(**({ID: config} if config else {}))
    ctx = context_of("OS::Nova::Server", given, cloud=shelf, metadata=METADATA)
    found = asyncio.run(user_data(ctx))
    return None if found is None else base64.b64decode(found).decode()


def parts(text):
    """The parts of a multipart by file name: type and text."""
    return {
        part.get_filename(): (part.get_content_type(), part.get_payload(decode=True).decode())
        for part in message_from_string(text).get_payload()
    }


@pytest.mark.parametrize("form", FORMATS)
def test_an_id_stands_for_the_text_of_its_configuration_but_not_for_the_cfn_tools(form):
    with_config, plain = sent(ID, form, "#!/bin/sh\necho"), sent(ID, form)
    match form:
        case "RAW":
            assert (with_config, plain) == ("#!/bin/sh\necho", ID)
        case "SOFTWARE_CONFIG":
            assert parts(with_config)["userdata"] == ("text/x-shellscript", "#!/bin/sh\necho")
            assert parts(plain)["userdata"] == ("text/plain", ID)
        case _:
            assert with_config == plain
            assert parts(plain)["cfn-userdata"] == ("text/x-cfninitdata", ID)


def test_raw_user_data_that_is_empty_is_none():
    assert sent("", "RAW") is None


def test_only_the_cfn_tools_have_their_parts():
    common = {"cloud-config", "boothook.sh", "part-handler.py", "cfn-init-data"}
    assert parts(sent("", "SOFTWARE_CONFIG")).keys() == common
    cfntools = {"cfn-userdata", "provision.sh", "cfn-metadata-server", "cfn-boto-cfg"}
    assert parts(sent("", "HEAT_CFNTOOLS")).keys() == common | cfntools


def test_a_multipart_gives_its_parts_one_by_one():
    inner = [text_part("a: 1", "cloud-config"), text_part("echo ä", "x-shellscript", "a.sh")]
    found = parts(sent(ID, "SOFTWARE_CONFIG", multipart(inner)))
    assert found[None] == ("text/cloud-config", "a: 1")
    assert found["a.sh"] == ("text/x-shellscript", "echo ä")
    assert "userdata" not in found
    assert json.loads(found["cfn-init-data"][1]) == METADATA


def test_ignition_gets_two_files_with_the_metadata():
    given = {"ignition": {"version": "3.0.0"}, "storage": {"files": [{"path": "/x"}], "more": 1}}
    found = json.loads(sent(json.dumps(given), "SOFTWARE_CONFIG"))
    first, *added = found["storage"].pop("files")
    assert first == {"path": "/x"}
    assert [one["path"] for one in added] == [
        "/var/lib/heat-cfntools/cfn-init-data",
        "/var/lib/cloud/data/cfn-init-data",
    ]
    for one in added:
        coded = one["contents"]["source"].removeprefix("data:;base64,")
        assert json.loads(base64.b64decode(coded)) == METADATA
    assert found == {"ignition": {"version": "3.0.0"}, "storage": {"more": 1}}


@pytest.mark.parametrize("text", ["{}", '{"ignition": {}}', '{"ignition": 1}', "[1]"])
def test_other_json_is_a_part_like_any_text(text):
    assert parts(sent(text, "SOFTWARE_CONFIG"))["userdata"] == ("text/plain", text)


@pytest.mark.parametrize("form", FORMATS)
def test_deployments_are_reserved_in_the_metadata_of_a_server_that_takes_them(form):
    kind = builtin_types()["OS::Nova::Server"]
    reserved = kind.reserved_metadata({"user_data_format": form})
    assert reserved == ({"deployments"} if form == "SOFTWARE_CONFIG" else set())
