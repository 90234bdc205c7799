"""The page about clusters, with servers that run."""

import shutil
from pathlib import Path

import pytest

from tests.clients.dev import hearth_dev
from tests.clients.pages import DOCS, blocks, differing
from tests.devcloud.sandbox.machines import need_namespaces
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]


def test_the_commands_work_and_print_what_the_page_shows(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    need_namespaces()
    for program, package in (("etcd", "etcd-server"), ("kubectl", "kubernetes-client")):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program} (package {package})")
    page = DOCS / "clusters.md"
    assert len([shown for _, shown in blocks(page) if shown]) >= 6
    with hearth_dev(tmp_path_factory.mktemp("hearth"), "--servers", "sandbox") as dev:
        dev.mark()
        assert differing(page, dev, tmp_path, monkeypatch) == []
        assert dev.left_over() == []
