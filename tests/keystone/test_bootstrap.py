"""`hearth manage bootstrap` on either Keystone, and `hearth serve` with the file that it writes."""

import contextlib
import os
import shlex
import socket
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from hearth.cli.bootstrap.keystone import Keystone
from hearth.cli.main import cli
from hearth.config.configuration import read
from tests.clients.dev import HEARTH, wait_for
from tests.clients.test_operating import PAGE, blocks
from tests.devcloud.running import Served
from tests.forked import Forked
from tests.keystone import guide, real
from tests.keystone.identity import Identity
from tests.keystone.prepare import PASSWORD, REGION
from tests.keystone.site import Site
from tests.keystone.test_stacks import USERS, outputs
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

TABLES = ("domains", "projects", "roles", "users", "regions", "services", "endpoints",
          "role_assignments")  # fmt: skip
NAMES = ("--service-project", "hearth", "--service-user", "svc", "--stack-domain", "stacks",
         "--stack-domain-admin", "boss")  # fmt: skip
URL = "http://heat.example:8004"


@dataclass
class Cloud:
    """A Keystone of its own, and a folder with a clouds.yaml for it."""

    identity: Identity
    folder: Path
    environment: dict[str, str | None]

    def run(self, *arguments: str, cloud: str = "admin", **environment: str) -> Result:
        """Run the command."""
        words = ["manage", "bootstrap", "--os-cloud", cloud, "--public-url", URL, *arguments]
        told = {**self.environment, **environment}
        return CliRunner().invoke(cli, words, env=told)

    def done(self, *arguments: str, **environment: str) -> dict[str, list[str]]:
        """Run the command successfully; return the report: words by state."""
        return report(self.run(*arguments, **environment), 0)

    def content(self) -> dict[str, list[Any]]:
        """Everything that Keystone has of what a bootstrap could create or change."""
        return {table: sorted(self.identity.there(f"/{table}", table), key=str) for table in TABLES}


def report(result: Result, code: int) -> dict[str, list[str]]:
    assert result.exit_code == code, result.output
    found: dict[str, list[str]] = {}
    for line in result.stdout.splitlines():
        if len(line) > 14 and line[13] == " " and line[:13].strip():
            found.setdefault(line[:13].strip(), []).append(line[14:])
    return found


@contextlib.contextmanager
def keystone(kind: str, folder: Path) -> Iterator[Identity]:
    if kind == "embedded":
        with Served() as running:
            yield Identity(f"{running.url}/identity/v3")
        return
    real.installed()
    real.copied(folder)
    with real.running(folder) as url:
        identity = Identity(f"{url}/v3")
        guide.register(identity, "identity", "keystone", identity.url)
        yield identity


@pytest.fixture(params=["embedded", "real"])
def cloud(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cloud]:
    (tmp_path / "keystone").mkdir()
    with keystone(request.param, tmp_path / "keystone") as identity:
        identity.ensure("roles", "role", {"name": "member"})
        identity.person("plain", "plain", "member")
        entries = {
            name: {"auth": {"auth_url": identity.url, "username": name, "password": PASSWORD,
                            "project_name": name, "user_domain_id": "default",
                            "project_domain_id": "default"}}
            for name in ("admin", "plain")
        }  # fmt: skip
        path = tmp_path / "clouds.yaml"
        path.write_text(yaml.safe_dump({"clouds": entries}))
        environment = {"OS_CLIENT_CONFIG_FILE": str(path), "OS_CLOUD": None}
        yield Cloud(identity, tmp_path, environment)


def test_a_dry_run_leaves_no_trace_and_names_what_a_run_creates(cloud: Cloud):
    before = cloud.content()
    file = cloud.folder / "hearth.conf"
    planned = cloud.done("--dry-run", "--clusters", "--write", str(file), *NAMES)
    assert cloud.content() == before
    assert not file.exists()

    made = cloud.done("--clusters", "--write", str(file), *NAMES)
    assert planned.pop("would write") == made.pop("wrote") == [str(file)]
    assert planned.pop("would create") == made.pop("created") != []
    assert planned == made  # what exists
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_run_creates_what_hearth_needs_and_a_second_one_nothing(cloud: Cloud):
    file = cloud.folder / "hearth.conf"
    cloud.done("--clusters", "--write", str(file), *NAMES)
    after, text = cloud.content(), file.read_text()
    again = cloud.done("--clusters", "--write", str(file), *NAMES)
    assert again.keys() == {"exists", "kept"}
    assert (cloud.content(), file.read_text()) == (after, text)

    identity = cloud.identity
    domain = identity.find("domains", "stacks")["id"]
    boss = identity.find("users", "boss", domain_id=domain)["id"]
    service = identity.find("users", "svc", domain_id="default")["id"]
    project = identity.find("projects", "hearth", domain_id="default")["id"]
    assert roles(identity, f"/projects/{project}/users/{service}") == {"admin", "service"}
    assert roles(identity, f"/domains/{domain}/users/{boss}") == {"admin"}
    assert identity.find("roles", "heat_stack_user")
    assert endpoints(identity) == {
        ("orchestration", "public"): f"{URL}/v1/$(project_id)s",
        ("orchestration", "internal"): f"{URL}/v1/$(project_id)s",
        ("orchestration", "admin"): f"{URL}/v1/$(project_id)s",
        ("cloudformation", "public"): "http://heat.example:8000/v1",
        ("cloudformation", "internal"): "http://heat.example:8000/v1",
        ("cloudformation", "admin"): "http://heat.example:8000/v1",
        ("container-infra", "public"): "http://heat.example:9511/v1",
        ("container-infra", "internal"): "http://heat.example:9511/v1",
        ("container-infra", "admin"): "http://heat.example:9511/v1",
    }


def roles(identity: Identity, path: str) -> set[str]:
    return {one["name"] for one in identity.there(f"{path}/roles", "roles")}


def endpoints(identity: Identity) -> dict[tuple[str, str], str]:
    """The addresses in the region, by type of the service and interface."""
    kinds = {one["id"]: one["type"] for one in identity.there("/services", "services")}
    ours = ("orchestration", "cloudformation", "container-infra")
    return {
        (kinds[one["service_id"]], one["interface"]): one["url"]
        for one in identity.there("/endpoints", "endpoints", region_id=REGION)
        if kinds[one["service_id"]] in ours
    }


def test_a_process_with_the_written_file_creates_a_stack(cloud: Cloud):
    main, cfn = free_port(), free_port()
    urls = ("--public-url", f"http://127.0.0.1:{main}", "--cfn-url", f"http://127.0.0.1:{cfn}")
    file, ports = cloud.folder / "hearth.conf", cloud.folder / "ports.conf"
    database = f"sqlite:///{cloud.folder}/hearth.db"
    cloud.done("--write", str(file), *urls, *NAMES, HEARTH_DATABASE=database)
    ports.write_text(f"[heat_api]\nbind_host = 127.0.0.1\nbind_port = {main}\n"
                     f"[heat_api_cfn]\nbind_host = 127.0.0.1\nbind_port = {cfn}\n")  # fmt: skip
    identity = cloud.identity
    owner = identity.person("owner", "stacks-of-owner", "member")
    token = identity.log_in(owner.name, project=owner.project)
    with Forked(["serve", "--config", str(file), "--config", str(ports)]) as process:
        try:
            words = process.stdout.readline().split()
            assert words[:3] == ["hearth", "is", "ready:"], words
            site = Site(identity, process, words[4], words[-1])
            stack_id = site.create(owner, token, "first", USERS)

            def ready() -> dict[str, Any] | None:
                found = outputs(site.stack(owner, token, stack_id))
                return found if all(found.values()) else None

            told = wait_for(ready, "the outputs")
            assert identity.facts(told["token"])["user"]["domain"]["name"] == "stacks"
            assert f"127.0.0.1:{main}/v1/" in told["curl"]
            assert f"127.0.0.1:{cfn}/v1" in told["signed"]
            site.delete(owner, token, stack_id)
        finally:
            process.terminate()
            process.wait(20)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def test_what_differs_is_reported_and_changed_only_with_update(cloud: Cloud):
    file = cloud.folder / "hearth.conf"
    cloud.done("--write", str(file), *NAMES)
    identity = cloud.identity
    wrong = next(
        one
        for one in identity.there("/endpoints", "endpoints", region_id=REGION)
        if one["url"].startswith(URL) and one["interface"] == "internal"
    )
    change(identity, f"/endpoints/{wrong['id']}", "endpoint", url="http://old.example:8004/v1")
    user = identity.find("users", "svc", domain_id="default")["id"]
    change(identity, f"/users/{user}", "user", password="forgotten", enabled=True)
    domain = identity.find("domains", "stacks")["id"]
    change(identity, f"/domains/{domain}", "domain", enabled=False)
    before = cloud.content()

    for more in ((), ("--dry-run",), ("--dry-run", "--update")):
        left = cloud.run("--write", str(file), *more, *NAMES)
        found = report(left, 0 if "--update" in more else 1)
        words = found["would change" if "--update" in more else "differs"]
        assert "it is http://old.example:8004/v1" in " ".join(words)
        assert "user svc in domain Default: the given password is not accepted" in words
        assert "domain stacks: it is disabled" in words
        assert "created" not in found
        assert cloud.content() == before
        if "--update" not in more:
            assert "differences are left; --update changes them" in left.stderr

    found = cloud.done("--update", "--write", str(file), *NAMES)
    assert len(found["changed"]) >= 3
    assert endpoints(identity)["orchestration", "internal"] == f"{URL}/v1/$(project_id)s"
    assert cloud.done("--write", str(file), *NAMES).keys() == {"exists", "kept"}


def change(identity: Identity, path: str, root: str, **changes: Any) -> None:
    answer = identity.call("PATCH", path, {root: changes})
    assert answer.status_code == 200, answer.text


def test_a_user_without_rights_gets_an_error_and_changes_nothing(cloud: Cloud):
    before = cloud.content()
    file = cloud.folder / "hearth.conf"
    refused = cloud.run("--write", str(file), "--region", REGION, *NAMES, cloud="plain")
    assert refused.exit_code == 1
    assert "with 403: expected an administrator, got user plain with roles member" in refused.stderr
    lacking = cloud.run(*NAMES, cloud="admn")
    words = "--os-cloud admn: clouds.yaml has no such entry; did you mean admin?"
    assert lacking.stderr == f"hearth: {words}\n"
    nearly = cloud.run("--region", "RegionOn", *NAMES)
    assert "no region RegionOn; did you mean RegionOne" in nearly.stderr
    lost = cloud.run("--write", str(cloud.folder / "no" / "hearth.conf"), *NAMES)
    assert "does not exist" in lost.stderr
    other = cloud.run("--service-domain", "default2", *NAMES)
    assert "Keystone has no domain default2; did you mean Default?" in other.stderr
    assert cloud.content() == before
    assert not file.exists()


@pytest.mark.parametrize("cloud", ["embedded"], indirect=True)
def test_a_run_that_was_interrupted_anywhere_can_be_repeated(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
):
    """Each run dies one change later than the run before; the last one is complete."""
    file = cloud.folder / "hearth.conf"
    text, runs = None, 0
    change_of = Keystone._call

    def dies_after_its_change(self: Keystone, method: str, path: str, **more: Any) -> Any:
        answer = change_of(self, method, path, **more)
        if self.changes == 1 and method in ("POST", "PUT") and path != "/auth/tokens":
            raise KeyboardInterrupt
        return answer

    with monkeypatch.context() as patch:
        patch.setattr(Keystone, "_call", dies_after_its_change)
        while cloud.run("--write", str(file), *NAMES).exit_code != 0:
            runs += 1
            assert file.read_text() == (text or file.read_text())
            text = file.read_text()
            assert runs < 50
    assert runs == 15  # project, domain, 2 users, 3 assignments, 2 services, 6 endpoints
    assert cloud.done("--write", str(file), *NAMES).keys() == {"exists", "kept"}
    told = read([file]).conf
    service = cloud.identity.authenticate(
        "password",
        {"user": {"name": "svc", "domain": {"id": "default"},
                  "password": told.keystone_authtoken.password}},
        {"project": {"name": "hearth", "domain": {"id": "default"}}},
    )  # fmt: skip
    assert service.status_code == 201


@pytest.mark.parametrize("cloud", ["embedded"], indirect=True)
def test_a_file_for_nothing_is_removed(cloud: Cloud, monkeypatch: pytest.MonkeyPatch):
    """An administrator who may read everything and change nothing."""
    from hearth.config.wrong import WrongSetting

    def refused(*_: object) -> None:
        raise WrongSetting("refused")

    monkeypatch.setattr(Keystone, "create", refused)
    file = cloud.folder / "hearth.conf"
    assert cloud.run("--write", str(file), *NAMES).stderr == "hearth: refused\n"
    assert not file.exists()


@pytest.mark.parametrize("cloud", ["embedded"], indirect=True)
def test_passwords_come_from_files_and_the_environment_and_are_printed_once(cloud: Cloud):
    secret = cloud.folder / "password"
    secret.write_text("of the service\n")
    given = ("--service-password-file", str(secret), *NAMES)
    first = cloud.run(*given, HEARTH_STACK_DOMAIN_PASSWORD="of the domain")
    assert first.exit_code == 0
    assert "\npassword = of the service\n" in first.stdout
    assert "\nstack_domain_admin_password = of the domain\n" in first.stdout
    second = cloud.run(*NAMES)
    assert second.exit_code == 0
    assert "\n# password = the password of svc\n" in second.stdout
    assert "the service user exists and its password is not known" in second.stderr
    wrong = cloud.run(*NAMES, HEARTH_SERVICE_PASSWORD="another")
    assert (wrong.exit_code, "another" in wrong.stdout.partition("Made by")[0]) == (1, False)
    secret.write_text("")
    assert "expected one line with a password" in cloud.run(*given).stderr


@pytest.mark.parametrize("cloud", ["embedded"], indirect=True)
def test_the_commands_of_the_page_work_as_they_are_written(cloud: Cloud):
    """With users that do not exist yet, and a database on this machine."""
    script = "\n".join(blocks("sh", PAGE.with_name("deploying.md")))
    assert script.count("hearth ") >= 4
    script = script.replace("postgresql://hearth:password@db.example/hearth",
                            f"sqlite:///{cloud.folder}/hearth.db")  # fmt: skip
    script = script.replace("--os-cloud admin", shlex.join(("--os-cloud", "admin", *NAMES)))
    environment = {**os.environ, **cloud.environment}
    done = subprocess.run(
        ["sh", "-e"], input=f'hearth() {{ {shlex.join(HEARTH)} "$@"; }}\n{script}',
        env={key: value for key, value in environment.items() if value is not None},
        cwd=cloud.folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for words in ("would create  user svc in domain Default", "created       domain stacks",
                  "wrote         hearth.conf", "users of stacks: in stacks, by boss",
                  ": from nothing"):  # fmt: skip
        assert words in done.stdout
    assert "unknown:" not in done.stdout
