"""`hearth schema`: what is printed, what is written, and what is refused."""

import json
import subprocess
from pathlib import Path

from tests.clients.dev import HEARTH


def process(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [*HEARTH, "schema", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_a_schema_is_printed_or_written(tmp_path: Path):
    printed = process()
    assert (printed.returncode, printed.stderr) == (0, "")
    whole = json.loads(printed.stdout)
    assert "heat_template_version" in whole["properties"]
    assert "OS::Nova::Server" in whole["definitions"]
    file = tmp_path / "hot.json"
    written = process("-o", file)
    assert (written.returncode, written.stdout, written.stderr) == (0, "", "")
    assert file.read_text(encoding="utf-8") == printed.stdout


def test_a_version_a_flavour_and_a_type_can_be_chosen():
    one = json.loads(process("--version", "2013-05-23").stdout)
    assert one["properties"]["heat_template_version"] == {"enum": ["2013-05-23"]}
    assert "conditions" not in one["properties"]
    cfn = json.loads(process("--flavour", "cfn").stdout)
    assert "AWSTemplateFormatVersion" in cfn["properties"]
    kind = json.loads(process("--type", "OS::Heat::RandomString").stdout)
    assert "length" in kind["properties"]


def test_what_there_is_not_is_told_with_the_nearest(tmp_path: Path):
    refused = process("--type", "OS::Nova::Sever")
    assert refused.returncode == 2
    assert "there is no resource type OS::Nova::Sever; did you mean OS::Nova::Server?" in (
        refused.stderr
    )
    refused = process("--version", "rokcy")
    assert refused.returncode == 2
    assert "did you mean rocky?" in refused.stderr
    refused = process("-o", tmp_path / "none" / "hot.json")
    assert refused.returncode == 1
    assert "Could not open file" in refused.stderr
