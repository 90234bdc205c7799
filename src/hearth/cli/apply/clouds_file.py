"""Check clouds.yaml. The client library skips a file that it cannot parse, and does not say why."""

import os
from collections.abc import Sequence
from pathlib import Path

from hearth.cli.apply.api import UserError
from hearth.cli.apply.text_file import nodes_of, text_of
from hearth.template import Node


def clouds_file(usual: Sequence[str]) -> Path | None:
    """Return the file of clouds that is used: $OS_CLIENT_CONFIG_FILE, or the first of the usual
    ones that exists; None without one.
    """
    env_path = os.environ.get("OS_CLIENT_CONFIG_FILE")
    paths = [*([env_path] if env_path else []), *usual]
    return next((Path(path) for path in paths if os.path.exists(path)), None)


def check_clouds_file(path: Path, name: str) -> None:
    """Check the file and the entry of one cloud, if it has one. Raises UserError, with the place of
    the first mistake.
    """
    try:
        root = nodes_of(text_of(path), path)
    except OSError as problem:
        raise UserError([f"{path} cannot be read: {problem.strerror}"]) from None
    if root.value is None:
        return
    clouds = _map(path, root, "the file", "with the key clouds").get("clouds")
    by_name = {} if clouds is None else _map(path, clouds, "clouds", "of names to clouds")
    if name not in by_name:  # it may be in another file, or in environment variables
        return
    cloud = _map(path, by_name[name], f"cloud {name}", "of settings")
    if "auth" in cloud:
        url = _map(path, cloud["auth"], f"auth of cloud {name}", "of settings").get("auth_url")
        if url is not None and not str(url.value).lower().startswith(("http://", "https://")):
            raise UserError([f"{url.span(str(path))}: auth_url of cloud {name} must be a URL"])


def _map(path: Path, node: Node, subject: str, expected: str) -> dict[str, Node]:
    if not isinstance(node.value, dict):
        raise UserError([f"{node.span(str(path))}: {subject} must be a map {expected}"])
    return node.value
