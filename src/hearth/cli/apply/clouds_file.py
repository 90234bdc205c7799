"""Checks a file of clouds before the client library reads it, which does not say what is wrong."""

import os
from collections.abc import Sequence
from pathlib import Path

import yaml

from hearth.cli.apply.api import Refused
from hearth.cli.apply.text_file import text_of


def clouds_file(usual: Sequence[str]) -> Path | None:
    """Return the file of clouds that is used: $OS_CLIENT_CONFIG_FILE, or the first of the usual
    ones that exists; None without one.
    """
    named = os.environ.get("OS_CLIENT_CONFIG_FILE")
    paths = (Path(one) for one in ([named] if named else []) + list(usual))
    return next((one for one in paths if one.exists()), None)


def check_clouds_file(path: Path, name: str) -> None:
    """Check the file and the entry of one cloud, if it has one. Raises Refused, with the place of
    the first mistake.
    """
    try:
        loader = yaml.CSafeLoader(text_of(path))
        root = loader.get_single_node()
        if root is not None:
            loader.construct_document(root)
    except OSError as problem:
        raise Refused([f"{path} cannot be read: {problem.strerror}"]) from None
    except yaml.MarkedYAMLError as problem:
        at = f":{_place(problem.problem_mark)}" if problem.problem_mark else ""
        raise Refused([f"{path}{at}: {problem.problem}"]) from None
    except yaml.YAMLError as problem:
        raise Refused([f"{path}: {problem}"]) from None
    if root is None:
        raise Refused([f"{path} is empty"])
    clouds = _map(path, root, "the file", "with the key clouds").get("clouds")
    if clouds is None:
        raise Refused([f"{path} has no key clouds"])
    known = _map(path, clouds, "clouds", "of names to clouds")
    if name not in known:
        return
    cloud = _map(path, known[name], f"cloud {name}", "of settings")
    if "auth" in cloud:
        auth = _map(path, cloud["auth"], f"auth of cloud {name}", "of settings")
        url = auth.get("auth_url")
        if url is not None and not str(url.value).startswith(("http://", "https://")):
            raise Refused(
                [f"{path}:{_place(url.start_mark)}: auth_url of cloud {name} must be a URL"]
            )


def _map(path: Path, node: yaml.Node, what: str, of_what: str) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        raise Refused([f"{path}:{_place(node.start_mark)}: {what} must be a map {of_what}"])
    return {str(key.value): value for key, value in node.value}


def _place(mark: yaml.Mark) -> str:
    return f"{mark.line + 1}:{mark.column + 1}"
