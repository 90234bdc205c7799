"""Paths of calls: what comes with a request leads nowhere else."""

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import hearth
from hearth.cloud.fault import CloudFault, NotFound
from hearth.cloud.path import filled_path, segment, straight
from tests.cloud.test_identity import town

SOURCE = Path(hearth.__file__).parent
QUOTING = {"segment", "filled_path"}
DECLARED = {"plural", "collection", "kind", "version", "verb", "scope", "assignee"}  # our words
NOT_CALLED = (  # texts with slashes that are no path of a call
    "path_suffix",  # quoted where it is made
    "resources/heat/signed_url.py",  # what is signed is the path as it is
    "resources/capabilities.py",  # an ARN
    "f'{stack.name}/{stack.id}'",
    "f'{ctx.key}/{action}/",
)


def values_in_paths(file: Path) -> Iterator[tuple[int, str, ast.expr]]:
    """What f-strings of a module put behind a slash or into a query: (line, text, value)."""
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.JoinedStr):
            continue
        start = node.values[0].value if isinstance(node.values[0], ast.Constant) else ""
        before = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                before = str(part.value)
                continue
            behind_slash = before.endswith("/")
            in_query = str(start).startswith("/") and before.endswith("=")
            if behind_slash or in_query:
                assert isinstance(part, ast.FormattedValue)
                yield node.lineno, ast.unparse(node), part.value
            before = ""


def quoted(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return name in QUOTING
        case ast.Name(id=name):
            return name.isupper() or name in DECLARED
        case ast.Attribute(value=ast.Attribute(attr="limits"), attr="usual"):
            return True
    return False


def test_each_value_in_a_path_is_quoted():
    found = [
        f"{file.relative_to(SOURCE)}:{line}: {text}"
        for place in ("cloud", "resources")
        for file in sorted((SOURCE / place).rglob("*.py"))
        for line, text, value in values_in_paths(file)
        if not quoted(value)
    ]
    assert [one for one in found if not any(text in one for text in NOT_CALLED)] == []


def test_the_scan_sees_a_value_that_is_not_quoted(tmp_path: Path):
    file = tmp_path / "wrong.py"
    file.write_text('x = f"/v3/users/{user_id}"\ny = f"{BASE}/{ident}"\nz = f"/ports?id={a.b}"\n')
    assert [ast.unparse(v) for _, _, v in values_in_paths(file) if not quoted(v)] == [
        "user_id", "ident", "a.b",
    ]  # fmt: skip


@pytest.mark.parametrize("value", ["../projects/x", "a/b", "a?b=c", "a#b", "a%2fb", "é", "a b", 7])
def test_a_segment_stays_one(value: object):
    assert not set("/?# ") & set(segment(value))


@pytest.mark.parametrize("value", ["", ".", ".."])
def test_what_can_name_nothing_is_not_found(value: str):
    with pytest.raises(CloudFault) as fault:
        segment(value)
    assert isinstance(fault.value, NotFound)
    with pytest.raises(CloudFault):
        filled_path("/v2.0/routers/{router}/x", {"router": value})


@pytest.mark.parametrize("path", ["/v3/users/../x", "/a/%2e%2e/b", "/a/.", "/a\\b"])
def test_a_path_that_leads_elsewhere_is_not_sent(path: str):
    async def story():
        async with town() as (_, pool, user):
            await pool.cloud(user("admin")).request("identity", "GET", path)

    with pytest.raises(CloudFault, match="must not contain"):
        asyncio.run(story())


@pytest.mark.parametrize("path", ["/v3/users/a..b", "/c/a%2F..%2Fb", "/v2?marker=../x"])
def test_other_paths_are_sent_as_they_are(path: str):
    assert straight("identity", path) == path
