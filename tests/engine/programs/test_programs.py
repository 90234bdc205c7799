"""Equal children share their program, unless what their template says depends on who they are."""

import asyncio
from pathlib import Path

import pytest

from hearth.engine.programs.programs import Programs
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import default_catalog
from hearth.store.accept import NewStack, create
from hearth.store.database import Store
from hearth.store.migrate import upgrade
from hearth.store.rows import Revision, StackRow
from hearth.store.seal import sealer_from_secret

HOT = "heat_template_version: 2018-08-31\nparameters: {p: {type: string, default: x}}\n"
VALUE = "resources: {a: {type: OS::Heat::Value, properties: {value: %s}}}\n"
CFN = "HeatTemplateFormatVersion: '2012-12-12'\nResources: {A: {Type: OS::Heat::Value, "


@pytest.fixture
def stacks(tmp_path: Path):
    """Two nested stacks that differ in name and id only."""
    store = Store(f"sqlite:///{tmp_path / 'hearth.db'}", sealer_from_secret("test"))
    upgrade(store)
    ids = iter(range(100))

    def made(name: str, parent: StackRow | None = None) -> StackRow:
        new = NewStack(name * 4, "project", name, Revision(HOT), parent=parent)
        return store.transact(lambda tx: create(tx, new, 0.0, lambda: str(next(ids))))

    root = made("root")
    yield [made("one", root), made("two", root)]
    store.close()


def programs_of(stacks, template: str, parameters=({}, {})):
    programs = Programs(default_catalog(), template_type=TemplateResource)

    async def both():
        return [
            await programs.of(stack, Revision(template, parameters=given))
            for stack, given in zip(stacks, parameters, strict=True)
        ]

    return asyncio.run(both())


def test_equal_stacks_share_all_but_their_own_names(stacks):
    one, two = programs_of(stacks, HOT + VALUE % "{get_param: p}")
    assert one.resources is two.resources
    assert [it.parameters["OS::stack_name"].value for it in (one, two)] == ["one", "two"]
    assert [it.parameters["OS::stack_id"].value for it in (one, two)] == [it.id for it in stacks]


def test_other_values_make_another_program(stacks):
    one, two = programs_of(stacks, HOT + VALUE % "{get_param: p}", ({"p": "y"}, {}))
    assert one.resources["a"].fingerprint != two.resources["a"].fingerprint


@pytest.mark.parametrize(
    "template",
    [
        HOT + VALUE % "{get_param: 'OS::stack_name'}",
        HOT + VALUE % "[{list_join: ['-', [a, {get_param: 'OS::stack_id'}]]}]",
        HOT + VALUE % "{get_param: [{list_join: ['::', [OS, stack_name]]}]}",
        CFN + "Properties: {value: {Ref: 'AWS::StackName'}}}}\n",
        CFN + "Metadata: {here: {Ref: 'AWS::StackId'}}, Properties: {value: x}}}\n",
    ],
)
def test_what_reads_its_own_name_has_a_program_of_its_own(stacks, template):
    one, two = programs_of(stacks, template)
    name = next(iter(one.resources))
    assert one.resources[name].fingerprint != two.resources[name].fingerprint
