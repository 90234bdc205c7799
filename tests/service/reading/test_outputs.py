"""Which attributes the outputs of a stack read from the cloud."""

from types import SimpleNamespace

import pytest

from hearth.engine.core.record import Held, Record
from hearth.model.state import Action, Status
from hearth.resources.registry import default_catalog
from hearth.service.reading.outputs import _live

CATALOG = default_catalog()
SERVICES = SimpleNamespace(
    programs=SimpleNamespace(type_of=lambda record: CATALOG.find(record.type))
)


def record(
    rtype: str, action: Action, status: Status, physical_id: str | None, *, made: bool
) -> Record:
    begun = {"depends_on": []} if action is not Action.INIT else {}
    held = Held(kind=rtype, parts=begun, reference="it" if made else None)
    return Record("id", "a", rtype, 1, 1.0, action, status, physical_id=physical_id, held=held)


@pytest.mark.parametrize(
    ("rtype", "attribute", "state", "physical_id", "made", "read"),
    [
        ("OS::Cinder::Volume", "size", "CREATE_FAILED", "it", False, True),
        ("OS::Cinder::Volume", "size", "CREATE_FAILED", None, False, False),
        ("OS::Cinder::Volume", "size", "CREATE_IN_PROGRESS", "it", False, False),
        ("OS::Cinder::Volume", "size", "UPDATE_FAILED", "it", True, False),
        ("OS::Heat::WaitCondition", "data", "CREATE_FAILED", "it", False, True),
        ("OS::Heat::WaitCondition", "data", "CREATE_IN_PROGRESS", "it", False, True),
        ("OS::Heat::WaitCondition", "data", "CREATE_COMPLETE", "it", True, True),
        ("OS::Heat::WaitCondition", "data", "INIT_COMPLETE", None, False, False),
        ("OS::Heat::SoftwareDeployment", "deploy_stdout", "UPDATE_FAILED", "it", True, True),
        ("OS::Heat::Value", "value", "CREATE_FAILED", "it", False, False),
    ],
)
def test_attributes_that_no_success_has_recorded_are_read(
    rtype, attribute, state, physical_id, made, read
):
    action, _, status = state.partition("_")
    one = record(rtype, Action(action), Status(status), physical_id, made=made)
    program = SimpleNamespace(reads={"a": [(attribute,)]})
    assert bool(_live(SERVICES, program, [one])) is read
