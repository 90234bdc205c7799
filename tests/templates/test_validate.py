"""A validation of each template that others wrote, whole and broken, with and without nesting.

It never fails with an exception; both ways have the same verdict about a whole template.
"""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.inside import CALLER, Inside
from msgspec.structs import replace

from hearth.authoring.project import Project
from hearth.cli.apply.bundle import bundle
from hearth.model.problem import Rejected
from hearth.model.unknown import UNKNOWN
from hearth.service.stacks.request import StackRequest
from hearth.service.stacks.validate import validate
from tests.authoring.lsp.corpus import TEMPLATES, cases
from tests.authoring.lsp.mutations import MUTATIONS
from tests.conftest import lacking
from tests.service.stacks.test_types_used import Rules, played
from tests.templates.corpus import FOLDER

pytestmark = pytest.mark.slow
REFUSED = {"hot/octavia/servers_with_octavia.yaml": 'unknown property "max_retries_down"'}
NO_VERSION = "the template has no version"
WITHOUT_VERSION = ("_env.yaml", "example-ca-certs-config.yml", "example-docker-compose.yml")
BROKEN = 1000


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StackRequest]:
    """Each template, alone and with each environment of its folder, by their names."""
    if not TEMPLATES.is_dir():
        lacking("the shared templates beside the repository")
    folder = tmp_path_factory.mktemp("copy") / "templates"
    shutil.copytree(TEMPLATES, folder)
    found = {}
    for path in (folder / one.file.relative_to(TEMPLATES) for one in cases(0)):
        name = str(path.relative_to(folder / FOLDER.name))
        for environment in (None, *sorted(path.parent.glob("*_env.yaml"))):
            with_ = environment.name if environment else ""
            found[f"{name} {with_}"] = request(path, environment)
    return found


def no_template(name: str) -> bool:
    """Whether a request has an environment or a configuration in place of a template."""
    return name.split(" ")[0].endswith(WITHOUT_VERSION)


def request(path: Path, environment: Path | None) -> StackRequest:
    """A request as clients send it; files of other repositories are empty."""
    project = Project()
    if project.template(str(path)) is None:
        return StackRequest(path.read_text())
    for name, content in project.files.items():
        if content is UNKNOWN and "://" not in name and not Path(name).exists():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text("")
    body = bundle(path, [environment] if environment else [], {})
    named = ("files", "environment", "environment_files")
    return StackRequest(body["template"], **{key: body[key] for key in named if key in body})


async def verdict(running: Inside, asked: StackRequest, *, nested: bool) -> list[str]:
    """The problems of a template; the answer can be sent."""
    try:
        shown = await validate(
            running.services, CALLER, asked, show_nested=nested, any_service=True
        )
        json.dumps(shown, ensure_ascii=False).encode()
    except Rejected as rejected:
        return [one.text for one in rejected.problems]
    return []


def verdicts(path: Path, asked: dict[str, StackRequest]) -> dict[str, tuple[list[str], list[str]]]:
    """The verdicts about each, without and with nested stacks."""

    async def story(running: Inside, rules: Rules) -> Any:
        rules.in_force = False
        return {
            name: (
                await verdict(running, one, nested=False),
                await verdict(running, one, nested=True),
            )
            for name, one in asked.items()
        }

    found: dict[str, tuple[list[str], list[str]]] = played(path, story)
    return found


def test_whole_templates_have_the_same_verdict_with_and_without_nested_stacks(
    requests: dict[str, StackRequest], tmp_path: Path
) -> None:
    found = verdicts(tmp_path, requests)
    assert {name: two for name, two in found.items() if two[0] != two[1]} == {}
    refused = {name.split(" ")[0]: plain[0] for name, (plain, _) in found.items() if plain}
    others = {name: words for name, words in refused.items() if not words.startswith(NO_VERSION)}
    assert others.keys() == REFUSED.keys()
    assert all(words.startswith(REFUSED[name]) for name, words in others.items())
    assert all(map(no_template, refused.keys() - others.keys()))


def broken(requests: dict[str, StackRequest]) -> Iterator[tuple[str, StackRequest]]:
    """Requests in which the template or a nested one is broken, by the number of the mutation."""
    luck = random.Random(0)
    mutations = list(MUTATIONS.items())
    known = [(name, one) for name, one in requests.items() if not no_template(name)]
    for number in range(BROKEN):
        name, whole = luck.choice(known)
        kids = [file for file in whole.files if file.endswith(".yaml")]
        file = luck.choice(kids) if kids and number % 2 else ""
        source = whole.files[file] if file else str(whole.template)
        kind, mutate = mutations[number // 2 % len(mutations)]
        text, _ = mutate(source, luck)
        text = text.decode(errors="replace") if isinstance(text, bytes) else text
        files = {**whole.files, file: text} if file else whole.files
        template = whole.template if file else text
        yield f"{number} {kind} {name} {file}", replace(whole, template=template, files=files)


def test_a_broken_template_is_refused_or_shown(
    requests: dict[str, StackRequest], tmp_path: Path
) -> None:
    found = verdicts(tmp_path, dict(broken(requests)))
    assert [name for name, (plain, nested) in found.items() if plain and not nested] == []
