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
from hearth.cli.apply.api import UserError
from hearth.cli.apply.follow import LOCAL_S, REMOTE_S, Follower
from hearth.cli.apply.options import StackLocation
from hearth.cli.apply.progress import ProgressView, viewed
from hearth.cli.apply.saved_plan import SavedPlan
from hearth.cli.apply.stack import Body, StackClient

PLACE = re.compile(r" \[([^\[\]]+?):([0-9]+:[0-9]+)\]$")
BAD_REQUEST = 400
CHANGES = 2  # the exit status of a plan with changes
INTERRUPTED = 130


class ChangeRequest(Struct, frozen=True):
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
    except UserError as caught:
        refused = caught
    except BrokenPipeError:
        os._exit(1)  # nobody reads the output any more
    except OSError as problem:
        prefix = f"{problem.filename}: " if problem.filename else ""
        refused = UserError([f"{prefix}{problem.strerror}"])
    if as_json:
        body = {"type": "error", "status": refused.status, "messages": refused.lines}
        say_json(body)
    else:
        for line in refused.lines:
            say(f"{style('error:', fg='red')} {line}", err=True)
    return 1


async def plan(location: StackLocation, request: ChangeRequest, out: Path | None) -> int:
    """Print a plan; return 1 if it would fail, 2 if it has changes, else 0.

    The plan is saved to `out`, unless it would fail. A stack that has failed counts as a change.
    """
    opened = location.opened(request.name, sign_in=True, plan=not request.delete)
    async with opened as (api, name):
        stack = await StackClient(api, name).find()
        body = _body(request)
        plan = await _planned(stack, request)
        _show_plan(location, plan)
        _judged(location, request, plan)
        if plan_text.fails(plan):
            saved = "" if out is None else f"; {out} was not written"
            raise UserError([f"the plan would fail{saved}"])
        if out is not None:
            SavedPlan.of(stack, body, plan).write(out)
        if _unsettled(location, stack, plan):
            return CHANGES
    return CHANGES if plan_text.changes(plan) else 0


async def apply(
    location: StackLocation,
    request: ChangeRequest,
    *,
    confirmed: bool,
    rollback: bool,
    timeout: int | None,
) -> int:
    """Plan, ask, carry out and follow; return 0 if the stack is complete."""
    opened = location.opened(request.name, sign_in=True, work=True, create=not request.delete)
    async with opened as (api, name):
        stack = await StackClient(api, name).find()
        if stack.in_progress and not request.delete:
            if (status := await _resume(location, stack)) != 0:
                return status
            await stack.find()
        if request.saved is not None:
            request.saved.demand(stack)
        body = _body(request)
        plan = await _planned(stack, request)
        if request.saved is not None:
            request.saved.demand_same(plan)
        _show_plan(location, plan)
        _judged(location, request, plan)
        unsettled = not request.delete and _unsettled(location, stack, plan)
        if not plan_text.changes(plan) and not request.delete and not unsettled:
            return await _ended(location, stack, "nothing to do")
        if not _agreed(location, confirmed=confirmed, delete=request.delete):
            return 1
        marker = await stack.last_event()
        if request.delete:
            await stack.destroy()
        else:
            limits = {"timeout_mins": timeout} if timeout else {}
            agreed = {"plan": plan["hash"], "disable_rollback": not rollback}
            await stack.apply({**body, **limits, **agreed})
        return await _followed(location, stack, marker)


async def watch(location: StackLocation, name: str | None) -> int:
    """Follow the operation in progress; return 0 if the stack is complete."""
    async with location.opened(name) as (api, stack_name):
        return await _followed(location, await StackClient(api, stack_name).demand(), None)


async def refresh(location: StackLocation, name: str | None) -> int:
    """Check all resources in the cloud; return 0 if all are there and healthy."""
    async with location.opened(name, sign_in=True, work=True) as (api, stack_name):
        stack = await StackClient(api, stack_name).demand()
        marker = await stack.last_event()
        await stack.check()
        return await _followed(location, stack, marker)


def _unsettled(location: StackLocation, stack: StackClient, plan: Body) -> bool:
    """Return whether an update has to end a failed operation although it changes no resource."""
    if plan_text.changes(plan) or stack.details is None or stack.good:
        return False
    if not location.as_json:
        say(f"The stack is {stack.status}; an update without changes completes it.")
    return True


def _body(request: ChangeRequest) -> Body:
    if request.delete:
        return {"delete": True}
    if request.saved is not None:
        return request.saved.body
    assert request.body is not None
    return request.body


async def _planned(stack: StackClient, request: ChangeRequest) -> Body:
    body = _body(request)
    if body.get("delete") and stack.details is None:
        raise UserError([f"there is no stack {stack.name} in {stack.api.location}"], 404)
    try:
        return await stack.plan(body)
    except UserError as refused:
        if request.template is None:
            raise
        lines = [placed(line, request.template) for line in refused.lines]
        if refused.status == BAD_REQUEST:
            lines = _in_words_of_lint(lines, request)
        raise UserError(lines, refused.status) from None


def _in_words_of_lint(lines: Sequence[str], request: ChangeRequest) -> list[str]:
    """Return the errors of a refused request in the words of lint, which knows the files.

    `lines` are the errors in the words of the API, with their places at the front; those at places
    where lint finds nothing stay. Lint does not know values in the request. If there are some, its
    other errors are left out, because such a value may replace a wrong default.
    """
    from hearth.authoring.finding import Severity
    from hearth.authoring.lint import lint

    assert request.template is not None
    errors: dict[str, list[str]] = {}
    for finding in lint(request.template, request.environments):
        if finding.severity is Severity.ERROR and finding.code != "missing-parameter":
            position = f"{os.path.normpath(finding.file)}:{finding.line}:"
            errors.setdefault(position, []).append(f"{position}{finding.column}: {finding.message}")
    matched = {position for line in lines for position in errors if line.startswith(position)}
    other_lines = [
        line for line in lines if not any(line.startswith(position) for position in matched)
    ]
    values = bool(request.body and request.body.get("parameters"))
    from_lint = [
        text
        for position, texts in errors.items()
        if position in matched or not values
        for text in texts
    ]
    return [*from_lint, *other_lines]


def placed(line: str, template: Path) -> str:
    """Return a message with its place at the front, as `FILE:LINE:COLUMN: message`.

    In messages of the API, places are at the end, and files are relative to the template's folder.
    """
    match = PLACE.search(line)
    if match is None:
        return line
    file = str(template)
    if match[1] != "template":
        file = os.path.normpath(template.parent / match[1])
    return f"{file}:{match[2]}: {line[: match.start()]}"


def _show_plan(location: StackLocation, plan: Body) -> None:
    if location.as_json:
        body = {"summary": dict(plan_text.counted(plan)), **plan}
        say_json({"type": "plan", **body})
        return
    for line in plan_text.lines(plan):
        say(line)
    say(plan_text.summary(plan))


def _judged(location: StackLocation, request: ChangeRequest, plan: Body) -> None:
    """Print the warnings of policies. Raises UserError if a policy denies the plan."""
    denied: list[str] = []
    for path in request.policies:
        from hearth.cli.apply.policy import read_policy

        reasons, warned = read_policy(path).check(plan)
        denied += reasons
        for line in warned:
            if location.as_json:
                say_json({"type": "warning", "message": line})
            else:
                say(f"{style('warning:', fg='yellow')} {line}", err=True)
    if denied:
        raise UserError(denied)


def _agreed(location: StackLocation, *, confirmed: bool, delete: bool) -> bool:
    """Ask whether to go on. Raises UserError if nobody can be asked."""
    if confirmed:
        return True
    if location.as_json or not sys.stdin.isatty():
        raise UserError(
            ["cannot ask for confirmation without a terminal or with --json; use --yes"]
        )
    question = "Destroy these resources?" if delete else "Apply these changes?"
    return click.confirm(question)


async def _resume(location: StackLocation, stack: StackClient) -> int:
    """Follow an operation that an earlier command has not finished."""
    if not location.as_json:
        say(f"continuing {stack.status}: an earlier command did not finish it")
    return await _followed(location, stack, await stack.last_event())


async def _followed(location: StackLocation, stack: StackClient, marker: str | None) -> int:
    with viewed(as_json=location.as_json) as view, interrupted(view, location) as stop:
        look_s = REMOTE_S if location.service else LOCAL_S
        await Follower(stack, view, look_s, marker).until_ended(stop)
    if stop.is_set() and stack.in_progress:
        return INTERRUPTED
    return await _ended(location, stack, stack.status)


@contextlib.contextmanager
def interrupted(view: ProgressView, location: StackLocation) -> Iterator[asyncio.Event]:
    """Return an event that Ctrl-C sets; the second Ctrl-C ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if stop.is_set():
            os._exit(INTERRUPTED)
        stop.set()
        if location.service:
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


async def _ended(location: StackLocation, stack: StackClient, headline: str) -> int:
    """Print how the operation has ended, and the outputs; return the exit status."""
    assert stack.details is not None
    good = stack.good
    is_deleted = stack.status == "DELETE_COMPLETE"
    reason = str(stack.details.get("stack_status_reason") or "")
    outputs = {} if is_deleted else outputs_of(stack.details)
    if location.as_json:
        body = {"status": stack.status, "reason": reason, "outputs": outputs}
        say_json({"type": "end", **body})
        return 0 if good else 1
    say(style(headline, fg="green" if good else "red"))
    for line in () if good else reason.split("\n"):
        say(line)
    for line in output_lines(outputs):
        say(line)
    return 0 if good else 1


def outputs_of(stack: Body) -> dict[str, Any]:
    """Return the outputs that have a value, by name."""
    return {
        output["output_key"]: output["output_value"]
        for output in stack.get("outputs") or ()
        if not output.get("output_error")
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
        first, *further = text.split("\n")
        yield f"{name:{width}} = {first}"
        yield from (f"{' ' * width}   {line}" for line in further)
