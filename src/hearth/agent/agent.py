#!/usr/bin/env python3
"""The agent of a server: it fetches software configurations, runs them and reports the results.

    python3 agent.py [--once] [--root FOLDER]

This file needs only Python 3.7. User data or an image puts it on the server. The agent reads the
address to poll from the boot document `/var/lib/heat-cfntools/cfn-init-data`. It runs each
configuration only once: before the run, it records the id in `/var/lib/heat-config/deployed`.
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import hashlib
import hmac
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
import xml.etree.ElementTree as ET
from typing import Any, Callable, Iterator

BOOT_DOCUMENT = "/var/lib/heat-cfntools/cfn-init-data"
BOOT_URL = "/var/lib/heat-cfntools/cfn-metadata-server"
STATE = "/var/lib/hearth-agent"
DEPLOYED = "/var/lib/heat-config/deployed"
WORKING = "/var/lib/heat-config/heat-config-{}"
OUTPUTS = "/var/run/heat-config/heat-config-{}"
HOOKS = ("/usr/libexec/heat-config/hooks", "/var/lib/heat-config/hooks")
SILENT = ("os-apply-config", "Heat::Ungrouped")  # groups of other agents
SECTION = "os-collect-config"
RESULTS_MAX = 950000  # bytes of a report; the API accepts a little more
OUTPUT_MAX = 2 * RESULTS_MAX  # bytes kept of each stream of a hook
DOCUMENT_MAX = 64 * 1024 * 1024  # bytes of an answer
TIMEOUT_S = 30.0  # of each request
PIPES_S = 2.0  # for output after the end of a hook; a daemon that it started keeps the pipe open
POLL_MIN_S, POLL_MAX_S = 1.0, 30.0
ATTEMPTS = 10  # of a report
RETRY_S, RETRY_MAX_S = 0.5, 30.0
TO_RETRY = (500, 502, 503, 504)
MOVES_MAX = 4  # changes of the transport in one poll
POP_MAX = 20  # messages taken from a queue at a time
ID = re.compile(r"[A-Za-z0-9_-]{1,128}")


class Unavailable(Exception):
    """A request failed or its answer is unusable; the message names the address and the reason."""


# requests


class Http:
    """An HTTP client that caches the Keystone token of each user.

    `pause(seconds)` is called to wait between two attempts.
    """

    def __init__(self, pause: Callable[[float], Any] = time.sleep) -> None:
        self._pause = pause
        self._tokens: dict[tuple[str, str], tuple[str, list[Any]]] = {}

    def request(
        self, method: str, url: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[bytes, dict[str, str]]:
        """Send a request; return the body and the headers (names in lower case) of the response.

        A `body` is sent as JSON. Raises HTTPError, OSError, or Unavailable if the response is too
        long.
        """
        data = None if body is None else json.dumps(body).encode()
        all_headers = {"Content-Type": "application/json", "Accept": "*/*"}
        all_headers.update(headers or {})
        http_request = urllib.request.Request(url, data, all_headers, method=method)
        try:
            with urllib.request.urlopen(http_request, timeout=TIMEOUT_S) as answer:
                content = answer.read(DOCUMENT_MAX + 1)
                answer_headers = {name.lower(): value for name, value in answer.headers.items()}
        except urllib.error.HTTPError as problem:
            problem.close()
            raise
        if len(content) > DOCUMENT_MAX:
            raise Unavailable(f"the response of {place(url)} has more than {DOCUMENT_MAX} bytes")
        return content, answer_headers

    def persist(self, send: Callable[[], Any]) -> None:
        """Call `send` until it succeeds, at most ATTEMPTS times.

        Raises the error of the last attempt. An HTTP error that is not in TO_RETRY is raised at
        once.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                send()
                return
            except urllib.error.HTTPError as problem:
                if problem.code not in TO_RETRY or attempt == ATTEMPTS:
                    raise
            except OSError:
                if attempt == ATTEMPTS:
                    raise
            self._pause(min(RETRY_MAX_S, RETRY_S * 2 ** (attempt - 1)))

    def as_user(
        self,
        access: dict[str, Any],
        service: str,
        method: str,
        path: str,
        body: Any = None,
    ) -> Any:
        """Call a service of the catalog as a user with a password; return the parsed JSON response.

        `access` contains auth_url, user_id, password, project_id and perhaps region_name. The token
        is cached until a service refuses it.
        """
        for fresh in (False, True):
            token, catalog = self._token(access, fresh=fresh)
            url = endpoint(catalog, service, access.get("region_name")) + path
            headers = {
                "X-Auth-Token": token,
                "X-Project-Id": str(access.get("project_id")),
                "Client-ID": str(uuid.uuid4()),
            }
            try:
                content, _ = self.request(method, url, body, headers)
                return json.loads(content.decode()) if content.strip() else None
            except urllib.error.HTTPError as problem:
                if problem.code != 401 or fresh:
                    raise
        raise AssertionError("unreachable: the second attempt has neither returned nor raised")

    def _token(self, access: dict[str, Any], fresh: bool) -> tuple[str, list[Any]]:
        key = (str(access["user_id"]), str(access["password"]))
        if fresh or key not in self._tokens:
            url = str(access["auth_url"]).rstrip("/")
            if not url.endswith("/v3"):
                url = re.sub(r"/v2\.0$", "", url) + "/v3"
            user = {"id": access["user_id"], "password": access["password"]}
            identity = {"methods": ["password"], "password": {"user": user}}
            scope = {"project": {"id": access["project_id"]}}
            credentials = {"auth": {"identity": identity, "scope": scope}}
            content, headers = self.request("POST", url + "/auth/tokens", credentials)
            catalog = json.loads(content.decode())["token"].get("catalog") or []
            self._tokens[key] = (headers["x-subject-token"], catalog)
        return self._tokens[key]


def endpoint(catalog: list[Any], service: str, region: str | None) -> str:
    """Return the public URL of a service in a region; if `region` is None or empty, in any region.

    `catalog` is the catalog of a token. Raises Unavailable if there is none.
    """
    for entry in catalog:
        for address in entry.get("endpoints", ()) if entry.get("type") == service else ():
            its_region = address.get("region_id") or address.get("region")
            if address.get("interface") == "public" and (not region or its_region == region):
                return str(address["url"]).rstrip("/")
    raise Unavailable(f"the catalog has no public endpoint for the service {service}")


def place(url: str) -> str:
    """Return a URL without its query, which can contain a signature."""
    return url.split("?", 1)[0]


# the transports of the metadata document


def active(document: Any) -> tuple[str, dict[str, Any]] | None:
    """Return the name and settings of the first transport that a metadata document configures.

    Return None if it configures no transport. The order is that of `collectors`; transports that it
    does not name come last.
    """
    settings = document.get(SECTION) if isinstance(document, dict) else None
    if not isinstance(settings, dict):
        return None
    collectors = settings.get("collectors") or []
    names = [name for name in collectors if name in POLLS]
    for name in names + [name for name in POLLS if name not in names]:
        section = settings.get(name)
        if isinstance(section, dict) and any(value is not None for value in section.values()):
            return name, section
    return None


def signature(verb: str, url: str, params: dict[str, str], secret: str) -> str:
    """Return the AWS signature, version 2, of a request with the parameters `params`, in base64."""
    parts = urllib.parse.urlsplit(url)
    query = "&".join(
        "{}={}".format(
            urllib.parse.quote(name, safe="-_~"), urllib.parse.quote(params[name], safe="-_~")
        )
        for name in sorted(params)
    )
    text = f"{verb}\n{parts.netloc.lower()}\n{parts.path}\n{query}"
    digest = hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def poll_cfn(agent: Agent, section: dict[str, Any]) -> Any:
    """Fetch the metadata document through the CloudFormation-compatible API and return it.

    `section` has the settings of the transport. Raises an exception if that fails.
    """
    url = section.get("metadata_url") or agent.boot_url()
    resource, _, keys = str(section["path"]).partition(".")
    params = {
        "Action": "DescribeStackResource",
        "StackName": str(section["stack_name"]),
        "LogicalResourceId": resource,
        "AWSAccessKeyId": str(section["access_key_id"]),
        "SignatureVersion": "2",
        "SignatureMethod": "HmacSHA256",
    }
    params["Signature"] = signature("GET", url, params, str(section["secret_access_key"]))
    query = urllib.parse.urlencode(params)
    content, _ = agent.http.request("GET", f"{url}?{query}")
    tree = ET.fromstring(content)
    field, *inner = keys.split(".")
    element = tree.find("DescribeStackResourceResult/StackResourceDetail/" + field)
    if element is None:
        raise Unavailable(f"the response of {place(url)} has no {field}")
    value = json.loads(element.text or "{}")
    for key in inner:
        value = value[key]
    return value


def poll_heat(agent: Agent, section: dict[str, Any]) -> Any:
    """Fetch the metadata document through the Orchestration API and return it.

    `section` has the settings of the transport. Raises an exception if that fails.
    """
    name = urllib.parse.quote(str(section["resource_name"]), safe="")
    stack = urllib.parse.quote(str(section["stack_id"]))
    path = f"/stacks/{stack}/resources/{name}/metadata"
    return agent.http.as_user(section, "orchestration", "GET", path)["metadata"]


def poll_request(agent: Agent, section: dict[str, Any]) -> Any:
    """Fetch the metadata document from a Swift temporary URL and return it.

    `section` has the settings of the transport. Return None if the document has not changed since
    the last poll. Raises an exception if that fails.
    """
    url = str(section["metadata_url"])
    conditions = {"If-None-Match": agent.etags[url]} if url in agent.etags else {}
    try:
        content, headers = agent.http.request("GET", url, headers=conditions)
    except urllib.error.HTTPError as problem:
        if problem.code == 304:
            return None
        raise
    document = json.loads(content.decode())
    if "etag" in headers:
        agent.etags = {url: headers["etag"]}
    return document


def poll_zaqar(agent: Agent, section: dict[str, Any]) -> Any:
    """Fetch the metadata document from a Zaqar queue: return the body of the last message.

    `section` has the settings of the transport. This deletes up to POP_MAX messages. Return None if
    the queue is empty. Raises an exception if that fails.
    """
    queue = urllib.parse.quote(str(section["queue_id"]), safe="")
    path = f"/v2/queues/{queue}/messages?pop={POP_MAX}"
    answer = agent.http.as_user(section, "messaging", "DELETE", path)
    messages = (answer or {}).get("messages") or []
    return messages[-1]["body"] if messages else None


POLLS: dict[str, Callable[[Agent, dict[str, Any]], Any]] = {
    "cfn": poll_cfn,
    "heat": poll_heat,
    "request": poll_request,
    "zaqar": poll_zaqar,
}
"""The function of each transport that fetches the metadata document.

Its arguments are the agent and the settings of the transport. It may raise any error.
"""


# the agent


class Agent:
    """The agent of one server. `root` is put before each path that it reads or writes."""

    def __init__(self, root: str = "", http: Http | None = None) -> None:
        self.root = root.rstrip("/")
        self.http = http or Http()
        self.etags: dict[str, str] = {}
        self._done: Any = None  # the document whose configurations have run

    def path(self, *parts: str) -> str:
        """Return the path made of `parts`, below the agent's root folder."""
        return self.root + os.path.join(*parts)

    def boot_url(self) -> str:
        """Return the URL of the CloudFormation-compatible API that the boot data names."""
        with open(self.path(BOOT_URL)) as file:
            return file.read().strip().rstrip("/") + "/v1/"

    def poll(self) -> bool:
        """Fetch the metadata document and run its new configurations; return whether it changed.

        If the fetched document configures another transport, fetch it again through that transport.
        Raises Unavailable.
        """
        has_run = False
        document = self.stored_document()
        for _ in range(MOVES_MAX):
            if self.run_all(document):
                has_run = True
            before = active(document)
            if before is None:
                raise Unavailable(
                    f"{self.path(BOOT_DOCUMENT)} does not configure a transport to poll"
                )
            name, section = before
            fetched = self._fetched(name, section)
            if not isinstance(fetched, dict):
                return has_run
            if fetched != document:
                write(self.path(STATE, "document.json"), json.dumps(fetched))
            document = fetched
            if active(fetched) in (None, before):
                break
            log(f'the metadata now comes from the transport "{active(fetched)[0]}"')  # type: ignore[index]
        return self.run_all(document) or has_run

    def stored_document(self) -> Any:
        """Return the boot document or the last fetched metadata document, whichever is newer.

        Return an empty map if neither exists. Raises Unavailable if the file is not JSON.
        """
        paths = [self.path(STATE, "document.json"), self.path(BOOT_DOCUMENT)]
        existing = [path for path in paths if os.path.exists(path)]
        if not existing:
            return {}
        try:
            return read_json(max(existing, key=os.path.getmtime))
        except ValueError as problem:
            raise Unavailable(f"a stored metadata document is not JSON: {problem}") from None

    def _fetched(self, name: str, section: dict[str, Any]) -> Any:
        try:
            return POLLS[name](self, section)
        except (OSError, ValueError, KeyError, TypeError, ET.ParseError) as problem:
            message = f'no metadata from the transport "{name}": {said(problem)}'
            raise Unavailable(message) from None

    def run_all(self, document: Any) -> bool:
        """Run the configurations of a metadata document that have not run yet.

        Return False if the last call had the same document.
        """
        if document == self._done:
            return False
        configs = document.get("deployments") if isinstance(document, dict) else None
        for config in configs if isinstance(configs, list) else ():
            try:
                self.run(config)
            except Exception as problem:  # the other configurations still run
                log(f"a configuration could not be applied: {said(problem)}")
        self._done = document
        return True

    def run(self, config: dict[str, Any]) -> None:
        """Run one configuration and report its results, unless it has run before.

        Do nothing if its group has no hook, or if it is a component without a part for the action.
        Raises Unavailable if the configuration has an invalid id.
        """
        ident = str(config.get("id"))
        if not ID.fullmatch(ident):
            raise Unavailable(f'a configuration has an invalid id: "{ident}"')
        if os.path.exists(self.path(DEPLOYED, ident + ".json")):
            return
        chosen = component(with_texts(config))
        if chosen is None:
            return
        hook = self.hook(str(chosen.get("group")))
        if hook is None:
            if chosen.get("group") not in SILENT:
                log("there is no hook for the group {}".format(chosen.get("group")))
            return
        write(self.path(DEPLOYED, ident + ".json"), json.dumps(chosen, indent=2))
        log(
            "the configuration {} runs with the hook {}".format(
                chosen.get("name") or ident, chosen.get("group")
            )
        )
        try:
            results = hook(chosen)
        except OSError as problem:
            results = {"deploy_stdout": "", "deploy_stderr": str(problem), "deploy_status_code": 1}
        write(self.path(DEPLOYED, ident + ".notify.json"), json.dumps(results, indent=2))
        try:
            notify(self.http, inputs_of(chosen), results)
        except (OSError, ValueError, KeyError, Unavailable) as problem:
            log(f"the results of {ident} could not be reported: {said(problem)}")

    def hook(self, group: str) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
        """Return the hook of a group: a function that runs a configuration and returns its results.

        The hook is an executable named after the group or a built-in function. Return None if the
        group has no hook.
        """
        name = "".join(char for char in group if char.isalnum() or char in "-_")
        folders = [self.path(folder) for folder in HOOKS]
        if os.environ.get("HEAT_CONFIG_HOOKS"):
            folders.insert(0, os.environ["HEAT_CONFIG_HOOKS"])
        for folder in folders:
            path = os.path.join(folder, name)
            if name and os.path.isfile(path) and os.access(path, os.X_OK):
                return lambda config: run_executable(path, config)
        if name == "script":
            return self._script
        if name == "ansible" and shutil.which("ansible-playbook"):
            return self._ansible
        return None

    def _script(self, config: dict[str, Any]) -> dict[str, Any]:
        """Run a configuration as a script: the built-in hook `script`.

        The inputs are passed as environment variables. Return the results.
        """
        file, outputs = self._prepared("script", config, 0o700)
        variables = {
            name: text(value)
            for name, value in inputs_of(config).items()
            if name and "=" not in name and "\0" not in name + text(value)
        }
        environment = dict(os.environ, **variables)
        environment["heat_outputs_path"] = outputs
        return self._outcome([file], environment, config, outputs)

    def _ansible(self, config: dict[str, Any]) -> dict[str, Any]:
        """Run a configuration as an Ansible playbook on this machine: the built-in hook `ansible`.

        The inputs are passed as extra variables. Return the results.
        """
        file, outputs = self._prepared("ansible", config, 0o600)
        variables = dict(inputs_of(config), heat_outputs_path=outputs)
        write(file + ".variables.json", json.dumps(variables))
        options = config.get("options") or {}
        command = ["ansible-playbook", "-i", str(options.get("inventory") or "localhost,")]
        command += ["--connection=local", "--extra-vars", f"@{file}.variables.json"]
        for key, switch in (
            ("modulepath", "--module-path"),
            ("tags", "--tags"),
            ("skip_tags", "--skip-tags"),
        ):
            if options.get(key):
                command += [switch, str(options[key])]
        environment = dict(os.environ)
        if options.get("callback_plugins"):
            environment["ANSIBLE_CALLBACK_PLUGINS"] = str(options["callback_plugins"])
        return self._outcome([*command, file], environment, config, outputs)

    def _prepared(self, hook: str, config: dict[str, Any], mode: int) -> tuple[str, str]:
        """Write the text of a configuration to a file with the permissions `mode`.

        Return the path of the file and a path prefix: the hook writes the output NAME to the file
        `PREFIX.NAME`.
        """
        file = self.path(WORKING.format(hook), str(config["id"]))
        write(file, text(config.get("config") or ""), mode)
        outputs = self.path(OUTPUTS.format(hook), str(config["id"]))
        os.makedirs(os.path.dirname(outputs), mode=0o700, exist_ok=True)
        for name in output_names(config):
            if os.path.exists(f"{outputs}.{name}"):
                os.unlink(f"{outputs}.{name}")
        return os.path.abspath(file), os.path.abspath(outputs)

    def _outcome(
        self, command: list[str], environment: dict[str, str], config: dict[str, Any], outputs: str
    ) -> dict[str, Any]:
        """Run a command; return its exit status, its streams and the outputs it wrote to files.

        `outputs` is the prefix of the paths of these files.
        """
        folder = os.path.dirname(outputs)
        results: dict[str, Any] = {}
        status, out, err = execute(command, environment, folder)
        for name in output_names(config):
            path = f"{outputs}.{name}"
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    results[name] = file.read(OUTPUT_MAX).decode(errors="replace")
        results["deploy_stdout"], results["deploy_stderr"] = out, err
        results["deploy_status_code"] = status
        return results


def component(config: dict[str, Any]) -> dict[str, Any] | None:
    """Return the part of a SoftwareComponent (group `component`) that is for the current action.

    Return None if it has no part for this action. Return other configurations unchanged.
    """
    if config.get("group") != "component":
        return config
    parts = config.get("config") or {}
    if isinstance(parts, str):
        parts = json.loads(parts)
    action = inputs_of(config).get("deploy_action")
    for part in parts.get("configs") or ():
        if action in (part.get("actions") or ("CREATE", "UPDATE")):
            return dict(config, config=part.get("config"), group=part.get("tool"))
    return None


def with_texts(config: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a configuration with the values of its String inputs converted to text."""
    return dict(
        config,
        inputs=[
            dict(entry, value=text(entry.get("value"))) if entry.get("type") == "String" else entry
            for entry in config.get("inputs") or ()
        ],
    )


def inputs_of(config: dict[str, Any]) -> dict[str, Any]:
    """Return the values of a configuration's inputs by name."""
    return {str(entry["name"]): entry.get("value") for entry in config.get("inputs") or ()}


def output_names(config: dict[str, Any]) -> Iterator[str]:
    """Yield the names of a configuration's outputs that are valid file names."""
    for output in config.get("outputs") or ():
        if output.get("name") and "/" not in output["name"] and "\0" not in output["name"]:
            yield str(output["name"])


def text(value: Any) -> str:
    """Return a value as text: text unchanged, null as an empty text, other values as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


# hooks


def run_executable(path: str, config: dict[str, Any]) -> dict[str, Any]:
    """Run an executable hook with the configuration on standard input; return its results.

    If the hook does not print a JSON object, the results are its streams and exit status.
    """
    status, out, err = execute([path], dict(os.environ), None, json.dumps(config).encode())
    try:
        results = json.loads(out) if out.strip() else None
    except ValueError:
        results = None
    if isinstance(results, dict):
        return results
    if not out.strip() and status == 0:
        return {}
    return {"deploy_stdout": out, "deploy_stderr": err, "deploy_status_code": status}


class Tail:
    """A thread that reads a stream to its end and keeps the last OUTPUT_MAX bytes."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._chunks: list[bytes] = []
        self._size = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Wait at most PIPES_S seconds for the end of the stream; return the text read so far."""
        self._thread.join(PIPES_S)
        with self._lock:
            return b"".join(self._chunks)[-OUTPUT_MAX:].decode(errors="replace")

    def _read(self) -> None:
        with self._stream:
            for chunk in iter(lambda: self._stream.read1(65536), b""):
                with self._lock:
                    self._chunks.append(chunk)
                    self._size += len(chunk)
                    while self._size - len(self._chunks[0]) >= OUTPUT_MAX:
                        self._size -= len(self._chunks.pop(0))


def execute(
    command: list[str], environment: dict[str, str], folder: str | None, stdin: bytes = b""
) -> tuple[int, str, str]:
    """Run a command; return its exit status and the last part of its output and error streams.

    `environment` has its environment variables, `stdin` is its standard input, and `folder` its
    working directory. If a signal ended the command, the status is 128 plus the signal number, as
    in a shell. Raises OSError if it cannot start.
    """
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, env=environment, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe
    )
    out, err = Tail(process.stdout), Tail(process.stderr)
    assert process.stdin is not None
    try:
        process.stdin.write(stdin)
        process.stdin.close()
    except BrokenPipeError:
        pass  # the command does not read its input
    status = process.wait()
    return (128 - status if status < 0 else status), out.text(), err.text()


# reports


def notify(http: Http, inputs: dict[str, Any], results: dict[str, Any]) -> None:
    """Send the results of a configuration by the signal transport that its inputs configure.

    Do nothing if they configure none. Raises an exception if the transport fails.
    """
    report = bounded(results)
    if inputs.get("deploy_signal_id"):
        verb = str(inputs.get("deploy_signal_verb") or "POST")
        http.persist(lambda: http.request(verb, str(inputs["deploy_signal_id"]), report))
    if not inputs.get("deploy_auth_url"):
        return
    keys = ("auth_url", "user_id", "password", "project_id", "region_name")
    access = {key: inputs.get("deploy_" + key) for key in keys}
    if inputs.get("deploy_queue_id"):
        queue = urllib.parse.quote(str(inputs["deploy_queue_id"]), safe="")
        path = f"/v2/queues/{queue}/messages"
        body = {"messages": [{"body": report, "ttl": 600}]}
        http.persist(lambda: http.as_user(access, "messaging", "POST", path, body))
        return
    stack = urllib.parse.quote(str(inputs["deploy_stack_id"]))
    name = urllib.parse.quote(str(inputs["deploy_resource_name"]), safe="")
    path = f"/stacks/{stack}/resources/{name}/signal"
    http.persist(lambda: http.as_user(access, "orchestration", "POST", path, report))


def bounded(results: dict[str, Any]) -> dict[str, Any]:
    """Return results of at most RESULTS_MAX bytes as JSON: the start of long outputs is cut off."""
    shortened = dict(results)
    for _ in range(64):
        over = len(json.dumps(shortened)) - RESULTS_MAX
        if over <= 0:
            break
        texts = [key for key, value in shortened.items() if isinstance(value, str) and value]
        if not texts:
            break
        streams = [key for key in texts if key in ("deploy_stdout", "deploy_stderr")]
        longest = max(streams or texts, key=lambda key: len(json.dumps(shortened[key])))
        wide = max(1, len(json.dumps(shortened[longest])) // len(shortened[longest]))
        shortened[longest] = shortened[longest][max(1, over // wide) :]
    return shortened


# files and log


def write(path: str, content: str, mode: int = 0o600) -> None:
    """Write a file atomically, with the permissions `mode`. Missing folders are created."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(os.open(path + ".new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode), "w") as file:
        file.write(content)
    os.chmod(path + ".new", mode)
    os.replace(path + ".new", path)


def read_json(path: str) -> Any:
    """Return the parsed content of a JSON file. Raises OSError or ValueError."""
    with open(path) as file:
        return json.load(file)


def said(problem: Exception) -> str:
    """Return the text of an error; the query of a URL is left out, as it can have a signature."""
    if isinstance(problem, urllib.error.HTTPError):
        return f"{problem.code} {problem.reason} from {place(problem.url)}"
    return f"{type(problem).__name__}: {problem}"


def log(message: str) -> None:
    """Write a line of log to standard error."""
    print("hearth-agent: " + message, file=sys.stderr, flush=True)


def alone(agent: Agent) -> Any:
    """Lock the agent's folder and return the open lock file.

    Raises BlockingIOError if another agent holds the lock.
    """
    os.makedirs(agent.path(STATE), mode=0o700, exist_ok=True)
    lock = open(agent.path(STATE, "lock"), "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise
    return lock


def keep_polling(agent: Agent, longest_s: float, pause: Callable[[float], Any]) -> None:
    """Poll forever, and log each new error.

    The pause between polls doubles up to `longest_s` seconds. It starts again at POLL_MIN_S when
    the metadata document has changed.
    """
    pause_s = min(POLL_MIN_S, longest_s)
    before = ""
    while True:
        try:
            has_changed = agent.poll()
            before = ""
        except Unavailable as problem:
            has_changed = False
            if str(problem) != before:
                log(str(problem))
            before = str(problem)
        pause_s = min(POLL_MIN_S if has_changed else pause_s * 2, longest_s)
        pause(pause_s)


def main() -> int:
    """Run the agent from the command line and return the exit status.

    It is 0, 1 if another agent runs or a poll with --once fails, or 130 if it was interrupted.
    """
    parser = argparse.ArgumentParser(description="Apply the software configurations of a server.")
    parser.add_argument(
        "--once", action="store_true", help="poll once and exit, with status 1 if the poll fails"
    )
    parser.add_argument(
        "--root", default="", help="folder that is put before all paths (default: none)"
    )
    parser.add_argument(
        "--longest-pause",
        type=float,
        default=POLL_MAX_S,
        metavar="SECONDS",
        help="longest pause between two polls, in seconds (default: %(default)s)",
    )
    options = parser.parse_args()
    agent = Agent(options.root)
    try:
        lock = alone(agent)
    except BlockingIOError:
        log(f"another agent is already running: it holds the lock in {agent.path(STATE)}")
        return 1
    with lock:
        try:
            if options.once:
                agent.poll()
            else:
                keep_polling(agent, options.longest_pause, time.sleep)
        except Unavailable as problem:
            log(str(problem))
            return 1
        except KeyboardInterrupt:
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
