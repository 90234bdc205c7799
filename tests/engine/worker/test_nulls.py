"""Null in a required property: the create fails with words, and the stack can be deleted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hearth.model.state import Action
from hearth.schema import Findings
from hearth.store.rows import Revision
from hearth.template import program
from tests.engine.worker.test_faults import Town, state, told

pytestmark = pytest.mark.slow

UNKNOWN_UNTIL_CREATED = {"get_attr": ["nothing", "value"]}
TYPES: dict[str, dict[str, Any]] = {
    "OS::Neutron::RouterInterface": {"router": None, "subnet": "private-subnet"},
    "OS::Neutron::FloatingIPAssociation": {"floatingip_id": "x", "port_id": None},
    "OS::Nova::KeyPair": {"name": None},
    "OS::Cinder::VolumeAttachment": {"instance_uuid": None, "volume_id": "x"},
    "OS::Zaqar::Subscription": {"queue_name": "q", "subscriber": None},
}


def template(rtype: str, value: Any) -> str:
    properties = {n: value if v is None else v for n, v in TYPES[rtype].items()}
    nothing = {"type": "OS::Heat::Value", "properties": {"value": None}}
    resources = {"nothing": nothing, "it": {"type": rtype, "properties": properties}}
    return json.dumps({"heat_template_version": "2021-04-16", "resources": resources})


def null_of(rtype: str) -> str:
    return next(name for name, value in TYPES[rtype].items() if value is None)


@pytest.mark.parametrize("rtype", TYPES)
def test_a_null_that_is_known_late_fails_the_create_with_words(rtype: str) -> None:
    async def story(town: Town) -> None:
        row = await town.make(template(rtype, UNKNOWN_UNTIL_CREATED), {})
        assert state(row) == "CREATE_FAILED"
        assert f'required property "{null_of(rtype)}" is null' in row.reason
        assert "resources.it.properties" in row.reason
        row = await town.operate(row.id, Action.UPDATE, Revision(template(rtype, None)))
        assert state(row) == "UPDATE_FAILED"
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []

    told(story)


@pytest.mark.parametrize("rtype", TYPES)
def test_a_stack_of_a_release_that_accepted_the_null_can_be_deleted(
    rtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def accepting(*args: Any, **more: Any) -> Findings:
        return Findings(*args, **{**more, "require": False})

    async def story(town: Town) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(program, "Findings", accepting)
            row = await town.make(template(rtype, None), {})
        assert state(row) == "CREATE_FAILED"
        assert state(await town.unmake(row.id)) == "DELETE_COMPLETE"
        assert town.alive() == []

    told(story)
