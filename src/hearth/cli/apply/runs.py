"""The flows of the commands: plan, ask, begin, follow, and print the outputs."""

import asyncio
import contextlib
import io
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from hearth.authoring.terminal import say, say_json, style
from hearth.cli.apply import plan_text
from hearth.cli.apply.api import Refused
from hearth.cli.apply.follow import LOCAL_S, REMOTE_S, Follower
from hearth.cli.apply.options import Where
from hearth.cli.apply.progress import View, viewed
from hearth.cli.apply.saved_plan import SavedPlan
from hearth.cli.apply.stack import Body, Stack

PLACE = re.compile(r" \[([^\[\]]+?):([0-9]+:[0-9]+)\]$")
BAD_REQUEST = 400
CHANGES = 2  # the exit status of a plan with changes
INTERRUPTED = 130


class Wanted(Struct, frozen=True):
    """The request of a plan or an apply: a body, or a saved plan; `name` is the default name.

    `template` is the path of the template and `environments` are those of its environments, for
    error messages. `policies` are the files with policies on the plan.
    """

    name: str | None
    body: Body | None = None
    saved: SavedPlan | None = None
    delete: bool = False
    template: Path | None = None
    environments: tuple[Path, ...] = ()
    policies: tuple[Path, ...] = ()


def run(main: Callable[[], Coroutine[Any, Any, int]], *, as_json: bool) -> int:
    """Run a command and return its exit status; print why it is refused."""
    from hearth.process.logs import log_to_stderr
    from hearth.process.prepare import run_until_complete

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without UTF-8 shows "?"
            stream.reconfigure(errors="replace")
    log_to_stderr("CRITICAL")

    try:
        status = run_until_complete(main())
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done
        return status
    except Refused as caught:
        refused = caught
    except BrokenPipeError:
        os._exit(1)  # nobody reads the output any more
    except OSError as problem:
        where = f"{problem.filename}: " if problem.filename else ""
        refused = Refused([f"{where}{problem.strerror}"])
    if as_json:
        body = {"type": "error", "status": refused.status, "messages": refused.lines}
        say_json(body)
    else:
        for line in refused.lines:
            say(f"{style('error:', fg='red')} {line}", err=True)
    return 1


async def plan(where: Where, wanted: Wanted, out: Path | None) -> int:
    """Print a plan; return 1 if it would fail, 2 if it has changes, else 0.

    The plan is saved to `out`, unless it would fail. A stack that has failed counts as a change.
    """
    opened = where.opened(wanted.name, sign_in=True, plan=not wanted.delete)
    async with opened as (api, name):
        stack = await Stack(api, name).find()
        body = _body(wanted)
        found = await _planned(stack, wanted)
        _show_plan(where, found)
        _judged(where, wanted, found)
        if plan_text.fails(found):
            saved = "" if out is None else f"; {out} was not written"
            raise Refused([f"the plan would fail{saved}"])
        if out is not None:
            SavedPlan.of(stack, body, found).write(out)
        if _unsettled(where, stack, found):
            return CHANGES
    return CHANGES if plan_text.changes(found) else 0


async def apply(
    where: Where, wanted: Wanted, *, sure: bool, rollback: bool, timeout: int | None
) -> int:
    """Plan, ask, carry out and follow; return 0 if the stack is complete."""
    opened = where.opened(wanted.name, sign_in=True, work=True, create=not wanted.delete)
    async with opened as (api, name):
        stack = await Stack(api, name).find()
        if stack.in_progress and not wanted.delete:
            if (status := await _resume(where, stack)) != 0:
                return status
            await stack.find()
        if wanted.saved is not None:
            wanted.saved.demand(stack)
        body = _body(wanted)
        found = await _planned(stack, wanted)
        if wanted.saved is not None:
            wanted.saved.demand_same(found)
        _show_plan(where, found)
        _judged(where, wanted, found)
        unsettled = not wanted.delete and _unsettled(where, stack, found)
        if not plan_text.changes(found) and not wanted.delete and not unsettled:
            return await _ended(where, stack, "nothing to do")
        if not _agreed(where, sure=sure, delete=wanted.delete):
            return 1
        marker = await stack.last_event()
        if wanted.delete:
            await stack.destroy()
        else:
            more = {"timeout_mins": timeout} if timeout else {}
            agreed = {"plan": found["hash"], "disable_rollback": not rollback}
            await stack.apply({**body, **more, **agreed})
        return await _followed(where, stack, marker)


async def watch(where: Where, name: str | None) -> int:
    """Follow the operation in progress; return 0 if the stack is complete."""
    async with where.opened(name) as (api, found):
        return await _followed(where, await Stack(api, found).demand(), None)


async def refresh(where: Where, name: str | None) -> int:
    """Check all resources in the cloud; return 0 if all are there and healthy."""
    async with where.opened(name, sign_in=True, work=True) as (api, found):
        stack = await Stack(api, found).demand()
        marker = await stack.last_event()
        await stack.check()
        return await _followed(where, stack, marker)


def _unsettled(where: Where, stack: Stack, found: Body) -> bool:
    """Return whether an update has to end a failed operation although it changes no resource."""
    if plan_text.changes(found) or stack.shown is None or stack.good:
        return False
    if not where.as_json:
        say(f"The stack is {stack.status}; an update without changes completes it.")
    return True


def _body(wanted: Wanted) -> Body:
    if wanted.delete:
        return {"delete": True}
    if wanted.saved is not None:
        return wanted.saved.body
    assert wanted.body is not None
    return wanted.body


async def _planned(stack: Stack, wanted: Wanted) -> Body:
    body = _body(wanted)
    if body.get("delete") and stack.shown is None:
        raise Refused([f"there is no stack {stack.name} in {stack.api.where}"], 404)
    try:
        return await stack.plan(body)
    except Refused as refused:
        if wanted.template is None:
            raise
        lines = [placed(line, wanted.template) for line in refused.lines]
        if refused.status == BAD_REQUEST:
            lines = _in_words_of_lint(lines, wanted)
        raise Refused(lines, refused.status) from None


def _in_words_of_lint(lines: Sequence[str], wanted: Wanted) -> list[str]:
    """Return the errors of a refused request in the words of lint, which knows the files.

    `lines` are the errors in the words of the API, with their places at the front; those at places
    where lint finds nothing stay. Lint does not know values in the request. If there are some, its
    other errors are left out, because such a value may replace a wrong default.
    """
    from hearth.authoring.finding import Severity
    from hearth.authoring.lint import lint

    assert wanted.template is not None
    errors: dict[str, list[str]] = {}
    for one in lint(wanted.template, wanted.environments):
        if one.severity is Severity.ERROR and one.code != "missing-parameter":
            place = f"{os.path.normpath(one.file)}:{one.line}:"
            errors.setdefault(place, []).append(f"{place}{one.column}: {one.message}")
    seen = {place for line in lines for place in errors if line.startswith(place)}
    rest = [line for line in lines if not any(line.startswith(place) for place in seen)]
    values = bool(wanted.body and wanted.body.get("parameters"))
    known = [
        text for place, texts in errors.items() if place in seen or not values for text in texts
    ]
    return [*known, *rest]


def placed(line: str, template: Path) -> str:
    """Return a message with its place at the front, as `FILE:LINE:COLUMN: message`.

    In messages of the API, places are at the end, and files are relative to the template's folder.
    """
    found = PLACE.search(line)
    if found is None:
        return line
    file = str(template)
    if found[1] != "template":
        file = os.path.normpath(template.parent / found[1])
    return f"{file}:{found[2]}: {line[: found.start()]}"


def _show_plan(where: Where, found: Body) -> None:
    if where.as_json:
        body = {"summary": dict(plan_text.counted(found)), **found}
        say_json({"type": "plan", **body})
        return
    for line in plan_text.lines(found):
        say(line)
    say(plan_text.summary(found))


def _judged(where: Where, wanted: Wanted, found: Body) -> None:
    """Print the warnings of policies. Raises Refused if a policy denies the plan."""
    denied: list[str] = []
    for path in wanted.policies:
        from hearth.cli.apply.policy import read_policy

        reasons, warned = read_policy(path).judge(found)
        denied += reasons
        for line in warned:
            if where.as_json:
                say_json({"type": "warning", "message": line})
            else:
                say(f"{style('warning:', fg='yellow')} {line}", err=True)
    if denied:
        raise Refused(denied)


def _agreed(where: Where, *, sure: bool, delete: bool) -> bool:
    """Ask whether to go on. Raises Refused if nobody can be asked."""
    if sure:
        return True
    if where.as_json or not sys.stdin.isatty():
        raise Refused(["cannot ask for confirmation without a terminal or with --json; use --yes"])
    words = "Destroy these resources?" if delete else "Apply these changes?"
    return click.confirm(words)


async def _resume(where: Where, stack: Stack) -> int:
    """Follow an operation that an earlier command has not finished."""
    if not where.as_json:
        say(f"continuing {stack.status}: an earlier command did not finish it")
    return await _followed(where, stack, await stack.last_event())


async def _followed(where: Where, stack: Stack, marker: str | None) -> int:
    with viewed(as_json=where.as_json) as view, interrupted(view, where) as stop:
        look_s = REMOTE_S if where.service else LOCAL_S
        await Follower(stack, view, look_s, marker).until_ended(stop)
    if stop.is_set() and stack.in_progress:
        return INTERRUPTED
    return await _ended(where, stack, stack.status)


@contextlib.contextmanager
def interrupted(view: View, where: Where) -> Iterator[asyncio.Event]:
    """Return an event that Ctrl-C sets; the second Ctrl-C ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            os._exit(INTERRUPTED)
        stop.set()
        if where.service:
            view.say("the service continues the operation; hearth watch follows it")
        else:
            view.say("stopping after the calls in progress; Ctrl-C again aborts them")

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    try:
        yield stop
    finally:
        if not stop.is_set():
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


async def _ended(where: Where, stack: Stack, words: str) -> int:
    """Print how the operation has ended, and the outputs; return the exit status."""
    assert stack.shown is not None
    good = stack.good
    gone = stack.status == "DELETE_COMPLETE"
    reason = str(stack.shown.get("stack_status_reason") or "")
    outputs = {} if gone else outputs_of(stack.shown)
    if where.as_json:
        body = {"status": stack.status, "reason": reason, "outputs": outputs}
        say_json({"type": "end", **body})
        return 0 if good else 1
    say(style(words, fg="green" if good else "red"))
    for line in () if good else reason.split("\n"):
        say(line)
    for line in output_lines(outputs):
        say(line)
    return 0 if good else 1


def outputs_of(shown: Body) -> dict[str, Any]:
    """Return the outputs that have a value, by name."""
    return {
        one["output_key"]: one["output_value"]
        for one in shown.get("outputs") or ()
        if not one.get("output_error")
    }


def output_lines(outputs: dict[str, Any]) -> Iterator[str]:
    """Yield `name = value` for each output; further lines of a value are indented, so that they
    cannot pass for other lines.
    """
    width = max(map(len, outputs), default=0)
    for name, value in outputs.items():
        text = json.dumps(value, ensure_ascii=False)
        if isinstance(value, str):
            text = value.rstrip("\n")
        first, *more = text.split("\n")
        yield f"{name:{width}} = {first}"
        yield from (f"{' ' * width}   {line}" for line in more)
