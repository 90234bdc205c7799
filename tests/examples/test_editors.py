"""The configurations for editors that we show, as those editors would read them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from benchmarks.editor import Client

from tests.conftest import lacking

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
VSCODE = ROOT / "examples" / "vscode"
BAD = "heat_template_version: 2018-08-31\nresources:\n  a: {type: OS::Nope::Nope}\n"


def by_the_extension():
    contributes = json.loads((VSCODE / "package.json").read_text())["contributes"]
    settings = contributes["configuration"]["properties"]
    environments = settings["hearth.environments"]["default"]
    return settings["hearth.command"]["default"], {"environments": environments}


def by_the_settings():
    settings = json.loads((VSCODE / "settings.json").read_text())
    command = [settings["glspc.server.command"], *settings["glspc.server.commandArguments"]]
    return command, settings["glspc.server.initializationOptions"]


def block(language):
    text = (ROOT / "docs" / "editors.md").read_text()
    (found,) = re.findall(rf"```{language}\n(.*?)```", text, re.S)
    return found


def by_neovim():
    (inside,) = re.findall(r"cmd = \{(.*?)\}", block("lua"))
    return re.findall(r'"(.*?)"', inside), {"environments": []}


def by_helix():
    settings = tomllib.loads(block("toml"))
    (name,) = settings["language"][0]["language-servers"]
    server = settings["language-server"][name]
    return [server["command"], *server["args"]], server["config"]


@pytest.mark.parametrize(
    "configuration",
    [by_the_extension, by_the_settings, by_neovim, by_helix],
    ids=lambda one: one.__name__,
)
def test_the_server_starts_as_it_is_written_there(configuration, tmp_path, monkeypatch):
    command, options = configuration()
    beside = Path(sys.executable).parent
    assert (beside / command[0]).exists(), "the package is not installed"
    monkeypatch.setenv("PATH", f"{beside}{os.pathsep}{os.environ['PATH']}")

    client = Client(tmp_path, command=command, options=options)
    assert client.start()["serverInfo"]["name"] == "hearth"
    uri = (tmp_path / "main.yaml").as_uri()
    client.open(uri, BAD)
    (problem,) = client.diagnostics(uri)
    assert "OS::Nope::Nope" in problem["message"]
    answer = client.at("completion", uri, 2, 20)
    assert "OS::Nova::Server" in [item["label"] for item in answer["items"]]
    assert client.stop() == 0


def test_what_some_editors_add_to_the_command_is_taken(tmp_path):
    client = Client(tmp_path, command=(sys.executable, "-m", "hearth.cli.main", "lsp", "--stdio"))
    client.start()

    assert client.stop() == 0


PLAY = """
const Module = require("module");
const load = Module._load;
const settings = JSON.parse(process.argv[1]);
class LanguageClient {
  constructor(id, name, server, options) {
    console.log(JSON.stringify({ id, server, options }));
  }
  async start() {}
  async stop() { console.log("stopped"); }
}
Module._load = (name, ...rest) => {
  if (name === "vscode") {
    return { workspace: { getConfiguration: () => ({ get: (key) => settings[key] }) } };
  }
  return name === "vscode-languageclient/node" ? { LanguageClient } : load(name, ...rest);
};
const extension = require(process.argv[2]);
extension.activate().then(() => extension.deactivate());
"""


def test_the_extension_starts_the_command_of_its_settings():
    node = shutil.which("node")
    if node is None:
        lacking("node")
    settings = {"command": ["/a b/hearth", "lsp", "--x"], "environments": ["env.yaml"]}
    done = subprocess.run(
        [node, "-e", PLAY, json.dumps(settings), str(VSCODE / "extension.js")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    first, last = done.stdout.splitlines()
    started = json.loads(first)

    assert started["server"] == {"command": "/a b/hearth", "args": ["lsp", "--x"]}
    assert started["options"]["initializationOptions"] == {"environments": ["env.yaml"]}
    assert {one["language"] for one in started["options"]["documentSelector"]} == {"yaml", "json"}
    assert last == "stopped"


def test_the_extension_asks_for_what_its_settings_declare():
    package = json.loads((VSCODE / "package.json").read_text())
    code = (VSCODE / package["main"]).read_text()
    declared = package["contributes"]["configuration"]["properties"]

    asked = re.findall(r'settings\.get\("(\w+)"\)', code)
    assert sorted(f"hearth.{name}" for name in asked) == sorted(declared)
    needed = re.findall(r'require\("([^"]+)"\)', code)
    assert {name.partition("/")[0] for name in needed} - {"vscode"} == set(package["dependencies"])
