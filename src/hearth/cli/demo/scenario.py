"""The scenario of `hearth demo`: create, signal, update, outputs, delete, and checks after each."""

import signal
import sys
import time
from collections import Counter
from typing import Any

from hearth.cli.board import Board, ResourceLine
from hearth.cli.demo.client import AGENT, FOLDER, ROOT, SANDBOX, Client, outputs_of, request_body
from hearth.cli.demo.dev_server import DemoFailed, DevServer, hearth_dev, servers_cannot_run
from hearth.cli.demo.guest import read_script, signal_in
from hearth.cli.demo.screen import BoardView, PlainScreen, Screen, TerminalScreen
from hearth.cli.embedded_cloud import demand_installed
from hearth.config.wrong import WrongSetting

NAME = "shop"
STEP_S = 0.1
LIMIT_S = 120
SERVER_S, VOLUME_S = 1.0, 0.5  # the embedded cloud needs some seconds
STACKS = "orchestration"


def run(*, transcript: bool) -> int:
    """Run the scenario and return the exit status: 0, 1 if it failed, or 130 if it was interrupted.

    If `transcript` is true, also print the equivalent commands.
    """
    stop = _StopSignal()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    screen = _screen()
    try:
        demand_installed()
        reason = servers_cannot_run()
        if reason is not None:
            screen.say(f"The servers of this demo do not run and execute no scripts: {reason}")
        with hearth_dev(servers_run=reason is None) as server:
            Scenario(server, screen, transcript=transcript).all()
    except KeyboardInterrupt:
        pass
    except Exception as trouble:
        if not stop.requested:  # else Hearth has ended: a terminal also interrupts it
            if not isinstance(trouble, DemoFailed | WrongSetting):
                raise
            print(f"hearth: {trouble}", file=sys.stderr)
            return 1
    if stop.requested:
        print("hearth: stopped; nothing is left", file=sys.stderr)
        return 130
    return 0


class _StopSignal:
    """A signal handler that interrupts the scenario and records that it was called."""

    requested = False

    def __call__(self, number: int, frame: object) -> None:
        self.requested = True
        raise KeyboardInterrupt


def _screen() -> Screen:
    if sys.stdout.isatty():
        from rich.console import Console

        return TerminalScreen(Console())
    return PlainScreen()


class Scenario:
    """The steps of the demo, run against one `hearth dev`.

    If `transcript` is true, the equivalent commands are printed, too.
    """

    def __init__(self, server: DevServer, screen: Screen, *, transcript: bool) -> None:
        self._server = server
        self._screen = screen
        self._transcript = transcript
        self._user = Client(server, "demo")
        self._admin = Client(server, "admin")
        self._board = Board(NAME)
        self._began = time.monotonic()
        self._signalled = False

    def all(self) -> None:
        """Run all steps in order. Raises DemoFailed at the first unexpected state."""
        self._screen.say(f"Hearth and its cloud are up (identity {self._server.auth_url}).")
        options = " --servers sandbox" if self._server.servers_run else ""
        for command in (
            f"hearth dev --data .hearth{options}    # in another terminal; "
            "the Hearth of this demo ends with the demo",
            ". .hearth/openrc",
            f"cp -r {FOLDER} {NAME}",
            f"hearth agent --user-data >{NAME}/{AGENT}",
        ):
            self._command(command)
        self._slow_down()
        self._user.behind_the_scenes("POST", "ledger/mark")
        self._create()
        before = self._servers()
        self._update()
        self._compare(before, self._servers())
        self._outputs()
        self._delete()
        self._account()

    def _slow_down(self) -> None:
        rules = [
            {
                "match": {"service": service, "method": "POST", "path_regex": path},
                "effect": {"slow_s": seconds},
            }
            for service, path, seconds in (
                ("compute", "/servers$", SERVER_S),
                ("volume", "/volumes$", VOLUME_S),
            )
            if service != "compute" or not self._server.servers_run  # those boot
        ]
        self._user.behind_the_scenes("POST", "knobs", json=rules)

    def _body(self, environment: str) -> dict[str, Any]:
        return request_body(environment, servers_run=self._server.servers_run)

    def _files(self, environment: str) -> str:
        """Return the command-line options that name the template and the environments."""
        sandbox = f" -e {NAME}/{SANDBOX}" if self._server.servers_run else ""
        return f"-t {NAME}/{ROOT} -e {NAME}/{environment}{sandbox}"

    def _create(self) -> None:
        files = self._files("env.yaml")
        self._command(f"openstack stack create {files} --wait {NAME}")
        body = {"stack_name": NAME, **self._body("env.yaml")}
        self._user.call(STACKS, "POST", "/stacks", json=body)
        self._watch("CREATE", f"Creating the stack {NAME}")
        self._command(f"openstack stack resource list -n 5 {NAME}")

    def _update(self) -> None:
        files = self._files("update.yaml")
        self._command(f"openstack stack update {files} --wait {NAME}")
        self._user.call(STACKS, "PUT", f"/stacks/{NAME}", json=self._body("update.yaml"))
        self._watch("UPDATE", "Updating the stack: a new release on web, another key for app")

    def _delete(self) -> None:
        self._command(f"openstack stack delete --yes --wait {NAME}")
        stack = self._user.call(STACKS, "GET", f"/stacks/{NAME}")["stack"]
        self._user.call(STACKS, "DELETE", f"/stacks/{NAME}")
        self._watch("DELETE", "Deleting it", stack_path=f"{NAME}/{stack['id']}")

    def _watch(self, action: str, title: str, stack_path: str = NAME) -> None:
        """Show the stack until `action` has ended. Raises DemoFailed if it fails or takes too long.

        `title` is the headline. `stack_path` is the name of the stack, or for a delete its name and
        id.
        """
        self._board.fresh()
        began = time.monotonic()
        with self._screen.showing(self._board, title) as view:
            while not self._board.status.startswith(action) or self._running():
                self._look(stack_path, view)
                if time.monotonic() > began + LIMIT_S:
                    raise DemoFailed(f"{title}: not done after {LIMIT_S} s")
                time.sleep(STEP_S)
            self._look(stack_path, view)
        if self._board.status != f"{action}_COMPLETE":
            raise DemoFailed(f"{title}: {self._board.status}: {self._reason(stack_path)}")
        self._screen.say(f"{self._board.status} in {time.monotonic() - began:.1f} s")

    def _running(self) -> bool:
        return self._board.status.endswith("_IN_PROGRESS")

    def _reason(self, stack_path: str) -> str:
        stack = self._user.call(STACKS, "GET", f"/stacks/{stack_path}")["stack"]
        return str(stack["stack_status_reason"])

    def _look(self, stack_path: str, view: BoardView) -> None:
        params = {"sort_dir": "asc", "nested_depth": "2"}
        if self._board.marker is not None:
            params["marker"] = self._board.marker
        answer = self._user.call(STACKS, "GET", f"/stacks/{stack_path}/events", params=params)
        now = time.monotonic()
        lines = self._board.take(answer["events"], now)
        view.changed(lines, now)
        for line in lines:
            self._be_the_guest(line)

    def _be_the_guest(self, line: ResourceLine) -> None:
        """Send the signal of the database server when it is created, unless the servers really
        run.
        """
        if self._server.servers_run:
            return
        if line.path != ("db",) or line.status != "CREATE_COMPLETE" or self._signalled:
            return
        assert line.physical_id is not None
        signal = signal_in(read_script(self._admin, line.physical_id))
        signal.send()
        self._signalled = True
        self._screen.say(f"          the server of db signals {signal.data}")

    def _servers(self) -> dict[str, dict[str, Any]]:
        """Return the stack's three servers as the compute service lists them, by tier."""
        servers = self._user.call("compute", "GET", "/servers/detail")["servers"]
        self._command("openstack server list")
        tiers = {
            tier: s for s in servers for tier in ("db", "app", "web") if f"-{tier}-" in s["name"]
        }
        if len(servers) != 3 or len(tiers) != 3:
            raise DemoFailed(f"expected three servers, got {', '.join(s['name'] for s in servers)}")
        return tiers

    def _heard(self, outputs: dict[str, Any]) -> None:
        """Check that the web server's script has reported the new release, if servers really
        run.
        """
        report = str(outputs["said_by_web"])
        if self._server.servers_run and "release 1.1 of web runs on" not in report:
            raise DemoFailed(f"expected the script of web to report release 1.1, got: {report}")

    def _compare(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Check that db is unchanged, web was changed in place and app was replaced."""
        unchanged = {tier for tier in before if before[tier]["id"] == after[tier]["id"]}
        if unchanged != {"db", "web"}:
            names = ", ".join(sorted(unchanged))
            raise DemoFailed(f"expected only the server app to be replaced; unchanged: {names}")
        if before["db"] != after["db"]:
            raise DemoFailed("expected the server db to be unchanged, but the update changed it")
        if after["web"]["metadata"].get("release") != "1.1":
            raise DemoFailed("expected the server web to have release 1.1 after the update")
        if after["app"]["key_name"] != "test_key":
            raise DemoFailed("expected the server app to have the key test_key after the update")
        self._screen.say(
            "db is unchanged, web was changed in place (release 1.0 -> 1.1), "
            "app was replaced (another key)"
        )

    def _outputs(self) -> None:
        self._command(f"openstack stack output show --all {NAME}")
        stack = self._user.call(STACKS, "GET", f"/stacks/{NAME}")["stack"]
        self._screen.say("Outputs:")
        outputs = outputs_of(stack)
        for name, value in sorted(outputs.items()):
            if value != "":
                self._screen.say(f"  {name:20} {str(value).rstrip()}")
        self._heard(outputs)

    def _account(self) -> None:
        """Check in the audit log of the cloud that every created object was deleted."""
        ledger = self._user.behind_the_scenes("GET", "ledger")
        created = [entry for entry in ledger["objects"] if not entry["implicit"]]
        remaining = [entry for entry in created if entry["deleted"] is None]
        if remaining:
            names = ", ".join(f"{e['service']} {e['collection']} {e['name']}" for e in remaining)
            raise DemoFailed(f"left over in the cloud: {names}")
        kinds = Counter(entry["collection"] for entry in created)
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        self._screen.say(
            f"The cloud is empty: {len(created)} creates, {len(created)} deletes ({counts})"
        )
        self._screen.say(f"The demo took {time.monotonic() - self._began:.1f} s.")

    def _command(self, command: str) -> None:
        if self._transcript:
            self._screen.say(f"$ {command}")
