"""The operator's environment directory: read once, below what users say, broken files left out."""

import logging

import pytest

from hearth.config.global_environment import global_environment
from hearth.template import Environment, compile_template
from hearth.template.environment import TemplateEntry, TypeEntry
from tests.adapters.catalog import Catalog
from tests.clients.dev import hearth_dev

CHILD = "heat_template_version: 2018-08-31\nparameters: {p: {type: string, default: a}}\n"
CATALOG = Catalog()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "thing.yaml").write_text(CHILD)
    (tmp_path / "10-types.yaml").write_text(
        "resource_registry:\n  My::Thing: lib/thing.yaml\n  My::Gone: lib/gone.yaml\n"
        "  My::Value: OS::Heat::None\n  'My::*': OS::Heat::Value\n"
    )
    (tmp_path / "20-later.yaml").write_text("resource_registry: {My::Value: OS::Heat::Value}\n")
    (tmp_path / "30-broken.yaml").write_text("resource_registry: [")
    return tmp_path


def leads_to(base, kind, **registry):
    return Environment(resource_registry=registry, base=base).find(kind, "r", CATALOG)


def test_types_lead_where_the_files_say_later_ones_first(folder):
    base = global_environment(folder)
    assert base.resource_registry["My::Value"] == "OS::Heat::Value"
    assert leads_to(base, "My::Other") == TypeEntry("OS::Heat::Value")


def test_a_template_of_the_operator_is_read_from_the_disk(tmp_path):
    (tmp_path / "thing.yaml").write_text(CHILD)
    (tmp_path / "types.env").write_text("resource_registry: {My::Thing: thing.yaml}\n")
    base = global_environment(tmp_path)
    entry = leads_to(base, "My::Thing")
    assert isinstance(entry, TemplateEntry)
    assert base.texts == {entry.template: CHILD}
    module = compile_template(
        "heat_template_version: 2018-08-31\n"
        "resources: {r: {type: My::Thing, properties: {p: b}}}\n",
        files=base.texts,
        environment=Environment(base=base),
        catalog=CATALOG,
    )
    assert module.bindings["r"].child is not None


def test_what_a_user_maps_comes_first(folder):
    base = global_environment(folder)
    mine = leads_to(base, "My::Thing", **{"My::Thing": "OS::Heat::None"})
    assert mine == TypeEntry("OS::Heat::None")


def test_what_is_broken_is_logged_and_left_out(folder, caplog):
    with caplog.at_level(logging.WARNING):
        base = global_environment(folder)
    assert "30-broken.yaml" in caplog.text
    assert "My::Gone" in caplog.text
    assert "My::Gone" not in base.resource_registry


def test_old_names_of_types_are_known_without_any_file(tmp_path):
    base = global_environment(tmp_path / "none")
    assert base.resource_registry["OS::Ceilometer::Alarm"] == "OS::Aodh::Alarm"


@pytest.mark.slow
def test_a_stack_is_made_of_the_operators_templates(tmp_path):
    folder = tmp_path / "environment.d"
    folder.mkdir()
    (folder / "word.yaml").write_text(
        "heat_template_version: 2018-08-31\nparameters: {p: {type: string}}\n"
        "resources: {v: {type: OS::Heat::Value, properties: {value: {get_param: p}}}}\n"
        "outputs: {word: {value: {get_attr: [v, value]}}}\n"
    )
    (folder / "types.env").write_text("resource_registry: {Our::Word: word.yaml}\n")
    template = tmp_path / "stack.yaml"
    template.write_text(
        "heat_template_version: 2018-08-31\n"
        "resources: {w: {type: Our::Word, properties: {p: hello}}}\n"
        "outputs: {word: {value: {get_attr: [w, word]}}}\n"
    )
    with hearth_dev(tmp_path) as dev:
        dev.shell("stack", "create", "-t", str(template), "--wait", "ours")
        shown = dev.json("stack", "output", "show", "ours", "word")
        assert shown["output_value"] == "hello"
        dev.shell("stack", "delete", "--yes", "--wait", "ours")
