"""What the commands say of bad input: the message tells what and where; the exit status is 1."""

import pytest

from tests.clients.dev import CommandFailed, Dev, settled
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
CREATE = "stack create -t {good} no"

GOOD = """\
heat_template_version: 2021-04-16
parameters:
  count: {type: number, default: 3, constraints: [{range: {min: 1, max: 5}}]}
  key: {type: string, default: stack_key, constraints: [{custom_constraint: nova.keypair}]}
resources:
  one: {type: OS::Heat::Value, properties: {value: {get_param: count}}}
"""
NEEDS = "heat_template_version: 2021-04-16\nparameters: {word: {type: string}}\n"
BAD = """\
heat_template_version: 2021-04-16
resources:
  one:
    type: OS::Heat::Value
    properties:
      value: {get_resource: tow}
  two: {type: OS::Heat::Valu}
"""
PARENT = "heat_template_version: 2021-04-16\nresources: {child: {type: bad.yaml}}\n"
BROKEN = "heat_template_version: 2021-04-16\nresources: [\n"

NOT_FOUND = {
    "stack show gone": "Stack not found: gone",
    "stack update -t {good} gone": "The Stack (gone) could not be found.",
    "stack delete --yes gone": "Stack not found: gone\nUnable to delete 1 of the 1 stacks.",
    "stack check gone": "Stack not found: gone",
    "stack suspend gone": "Stack not found: gone",
    "stack resume gone": "Stack not found: gone",
    "stack cancel gone": "Stack not found: gone",
    "stack export gone": "Stack not found: gone",
    "stack abandon gone": "Stack not found: gone",
    "stack template show gone": "Stack not found: gone",
    "stack environment show gone": "Stack not found: gone",
    "stack file list gone": "Stack not found: gone",
    "stack event list gone": "The Stack (gone) could not be found.",
    "stack event list --resource no here": "The Resource (no) could not be found in Stack here.",
    "stack event show here one no": "No event no found",
    "stack failures list gone": "The Stack (gone) could not be found.",
    "stack hook poll gone": "Stack not found: gone",
    "stack hook clear gone one": "Stack not found: gone",
    "stack output list gone": "Stack not found: gone",
    "stack output show gone a": "Stack gone or output a not found.",
    "stack resource list gone": "Stack not found: gone",
    "stack resource show here no": "Stack or resource not found: here no",
    "stack resource metadata here no": "Stack here or resource no not found.",
    "stack resource signal here no": "Stack here or resource no not found.",
    "stack resource mark unhealthy here no": "Stack or resource not found: here no",
    "stack snapshot create gone": "Stack not found: gone",
    "stack snapshot list gone": "Stack not found: gone",
    "stack snapshot show here no": "Snapshot ID <no> not found for stack <here>",
    "stack snapshot delete --yes here no": "Snapshot ID <no> not found for stack <here>",
    "stack snapshot restore here no": "Stack here or snapshot no not found.",
    "orchestration resource type show OS::No::Thing": "Resource type not found: OS::No::Thing",
    "orchestration template function list no": "Template version not found: no",
    "software config show no": "Configuration not found: no",
    "software config delete no": "Software config with ID no not found",
    "software deployment show no": "Software Deployment not found: no",
    "software deployment delete no": "Deployment with ID no not found",
    "software deployment output show no --all": "Deployment not found: no",
    "software deployment create --config no --server s n": "Software configuration not found: no",
}  # fmt: skip
REFUSED = {
    "stack create -t {good} here": "The Stack (here) already exists.",
    "stack create -t {good} 1st": "Invalid stack name 1st: it must begin with a letter",
    "stack create -t {good} no --parameter count=9":
        'parameters.count: parameter "count": 9 is out of range (min: 1, max: 5)',
    "stack create -t {good} no --parameter count=x": 'parameter "count": "x" is not a number',
    "stack create -t {good} no --parameter cuont=1":
        'the template has no parameter "cuont"; did you mean count?',
    "stack create -t {good} no --parameter key=lost":
        "parameters.key: The Key (lost) could not be found.",
    "stack update -t {good} here --parameter count=0": "0 is out of range (min: 1, max: 5)",
    "stack create -t {needs} no":
        'parameters.word: parameter "word" has no value and no default',
    "stack create -t {missing} no": "No such file or directory",
    "stack adopt --adopt-file {good} no": "the document has no template",
    "stack resource signal here one": "signal is not supported for resource.",
    "stack hook clear here one": "Stack status CREATE_COMPLETE not IN_PROGRESS",
    "stack list --all-projects": "You are not authorized to complete this action "
        "(stacks:global_index).",
    "orchestration resource type show OS::Nova::Quota":
        "You are not authorized to use OS::Nova::Quota.",
    "orchestration resource type list --filter support_status=OLD": "OLD",
}  # fmt: skip
REFERENCE = (
    'resources.one.properties.value.get_resource: there is no resource "tow"; did you mean two?'
)
TYPE = (
    "resources.two: The Resource Type (OS::Heat::Valu) could not be found; "
    "did you mean OS::Heat::Value?"
)


@pytest.fixture(scope="module")
def files(dev: Dev, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Templates by name, and a stack called here."""
    folder = tmp_path_factory.mktemp("refused")
    texts = {"good": GOOD, "needs": NEEDS, "bad": BAD, "parent": PARENT, "broken": BROKEN}
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    made = dev.json("stack", "create", "-t", str(folder / "good.yaml"), "here")
    with dev.heat() as heat:
        settled(heat, made["id"], "CREATE")
    return {name: str(folder / f"{name}.yaml") for name in (*texts, "missing")}


def refused(dev: Dev, command: str, files: dict[str, str]) -> str:
    with pytest.raises(CommandFailed) as failed:
        dev.shell(*command.format_map(files).split())
    assert failed.value.status == 1
    return str(failed.value)


@pytest.mark.parametrize("command", NOT_FOUND)
def test_what_is_not_there_is_named(dev: Dev, files: dict[str, str], command: str):
    assert NOT_FOUND[command] in refused(dev, command, files)


@pytest.mark.parametrize("command", REFUSED)
def test_what_cannot_be_done_is_refused_with_the_reason(
    dev: Dev, files: dict[str, str], command: str
):
    assert REFUSED[command] in refused(dev, command, files)
    assert [one["Stack Name"] for one in dev.json("stack", "list")] == ["here"]


@pytest.mark.parametrize(
    "command",
    [
        "stack create -t {bad} no",
        "stack create --dry-run -t {bad} no",
        "stack update -t {bad} here",
        "stack update --dry-run -t {bad} here",
        "orchestration template validate -t {bad}",
    ],
)
def test_all_faults_of_a_template_are_told_with_their_places(
    dev: Dev, files: dict[str, str], command: str
):
    """The command sends no text but what it read of it: the place is the path."""
    said = refused(dev, command, files)
    assert f"{REFERENCE}\n{TYPE}" in said


def test_a_fault_in_a_nested_template_names_its_file(dev: Dev, files: dict[str, str]):
    said = refused(dev, "stack create -t {parent} no", files)
    bad = f"file://{files['bad']}"
    assert f"resources.child<{bad}>.{REFERENCE}" in said
    assert f"resources.child<{bad}>.{TYPE}" in said


def test_text_that_is_no_template_is_refused_by_the_command_itself(dev: Dev, files: dict[str, str]):
    assert "Error parsing template" in refused(dev, "stack create -t {broken} no", files)


def test_a_true_process_ends_with_status_1(dev: Dev, files: dict[str, str]):
    with pytest.raises(CommandFailed, match=r"did you mean count\?") as failed:
        dev.openstack("stack", "create", "-t", files["good"], "--parameter", "cuont=1", "no")
    assert failed.value.status == 1
