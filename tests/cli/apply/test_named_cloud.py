"""Mistakes in clouds.yaml are reported with their places, whatever the file contains."""

import asyncio
from pathlib import Path

import pytest

from hearth.cli.apply.api import UserError
from hearth.cli.apply.named_cloud import pool_of

GOOD = 'auth: {auth_url: "http://127.0.0.1:1/", username: a, password: b, project_name: c}'
MISTAKES = {
    "text": ":1:1: the file must be a map with the key clouds",
    "[]": ": the file must be a map with the key clouds",
    "clouds: [": ":2:1: not well-formed YAML",
    "clouds: []": ":1:9: clouds must be a map of names to clouds",
    "clouds: {dev: \x01}": "control characters are not allowed",
    "clouds: {? [a] : 4}": ":1:12: a list or map cannot be a key",
    "clouds: {dev: {? {a: 4} : 3}}": ":1:18: a list or map cannot be a key",
    "clouds: {dev: !!python/object:os.system {}}": ":1:15: the tag tag:yaml.org,2002:py",
    "clouds: {dev: text}": ":1:15: cloud dev must be a map of settings",
    "clouds: {dev: }": ":1:15: cloud dev must be a map of settings",
    "clouds: {dev: {auth: text}}": ":1:22: auth of cloud dev must be a map of settings",
    "clouds:\n  dev:\n    auth: {auth_url: 5}": ":3:22: auth_url of cloud dev must be a URL",
    "clouds: {dev: {auth: {auth_url: }}}": "auth_url of cloud dev must be a URL",
    "clouds: {dev: {auth: {auth_url: [a]}}}": "auth_url of cloud dev must be a URL",
    "clouds: {dev: {auth: {auth_url: cloud.test}}}": "auth_url of cloud dev must be a URL",
    "clouds: {dev: {auth: {auth_url: 'http://h/{'}}}": "cannot be used: Single '{'",
    "clouds: {dev: {auth: {auth_url: 'http://h/{x}'}}}": "cannot be used: 'x'",
    "clouds: {dev: {auth_type: nix}}": "cannot be used: The plugin nix could not be found",
    "clouds: {dev: {auth_type: v3token, auth: {auth_url: 'http://h'}}}": "argument: 'token'",
    "clouds: {dev: &a {auth: *a}}": ":1:25: the anchor a contains itself",
    f"clouds: {{dev: {{{GOOD}, interface: [7]}}}}": "cannot be used: interface should be",
    f"clouds: {{dev: {{{GOOD}, cert: {{a: b}}}}}}": "cannot be used: expected str",
    f"clouds: {{dev: {{{GOOD}, cacert: /nix}}}}": "cannot be used: there is no file /nix",
    f"clouds: {{dev: {{{GOOD}, api_timeout: 2001-99-99}}}}": "cannot be used: month must be in",
    f"clouds: {{dev: {{{GOOD}, x: !!int ''}}}}": "does not match its tag",
}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "clouds.yaml"
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(path))
    return path


def refusal() -> str:
    with pytest.raises(UserError) as caught:
        pool_of("dev")
    return str(caught.value)


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_reported_with_the_file(file: Path, text: str):
    file.write_text(text)
    told = refusal()
    assert MISTAKES[text] in told
    assert str(file) in told


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("clouds: {}", "no clouds"), ("clouds: {other: 4}", "other"),
        ("clouds: {5: {}, a: {}}", "5, a"),
    ],
)  # fmt: skip
def test_a_cloud_that_the_file_does_not_have_is_reported(file: Path, text: str, known: str):
    file.write_text(text)
    assert refusal() == f"there is no cloud dev\n{file} has {known}"


@pytest.mark.parametrize("text", ["", "other: 4"])
def test_a_file_without_clouds_is_named(file: Path, text: str):
    file.write_text(text)
    assert str(file) in refusal()


def test_without_a_file_a_cloud_is_that_of_the_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OS_CLIENT_CONFIG_FILE", raising=False)
    monkeypatch.setattr("openstack.config.loader.CONFIG_FILES", [str(tmp_path / "clouds.yaml")])
    assert refusal() == "there is no cloud dev\nno clouds.yaml was found"
    monkeypatch.setenv("OS_AUTH_URL", "http://127.0.0.1:1/")
    monkeypatch.setenv("OS_USERNAME", "a")
    asyncio.run(pool_of("envvars").aclose())
    assert refusal() == "there is no cloud dev\nno clouds.yaml was found"


def test_a_url_may_have_capital_letters(file: Path):
    file.write_text("clouds: {dev: {auth: {auth_url: HTTP://h/, username: a, password: b}}}")
    asyncio.run(pool_of("dev").aclose())


def test_files_that_cannot_be_read_are_reported(file: Path):
    file.write_bytes(b"\xff\xfe")
    assert refusal() == f"{file} is not in UTF-8: byte 0 cannot be read"
    file.unlink()
    file.mkdir()
    assert refusal() == f"{file} cannot be read: Is a directory"


def test_a_json_file_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "clouds.json"
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(file))
    for text, told in {
        '{"clouds":\n\t{': f"{file}:3:1: not well-formed YAML",
        '{"clouds": []}': f"{file}: clouds must be a map",
        '{"clouds":\t{"other": {}}}': f"there is no cloud dev\n{file} has other",
    }.items():
        file.write_text(text)
        assert refusal().startswith(told)


def test_deep_nesting_is_refused(file: Path):
    file.write_text("clouds: " + "[" * 100_000)
    assert refusal() == f"{file}:1:108: lists and maps are nested more than 100 deep"


def test_settings_of_an_alias_are_checked(file: Path):
    file.write_text("x: &x {auth: {auth_url: 5}}\nclouds: {dev: {<<: *x}}")
    assert refusal() == f"{file}:1:25: auth_url of cloud dev must be a URL"


def test_a_good_file_is_used(file: Path):
    file.write_text(f"clouds: {{dev: {{{GOOD}, verify: false, region_name: north}}}}")
    pool = pool_of("dev")
    assert (pool.config.region, pool.config.tls.insecure) == ("north", True)
    asyncio.run(pool.aclose())
