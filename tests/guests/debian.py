"""The image `debian` for tests, which `make image` builds into `.guests/`."""

from pathlib import Path

import pytest

from hearth_devcloud.images import shelf
from tests.devcloud.sandbox.machines import need_namespaces

IMAGES = Path(__file__).parents[2] / ".guests" / "images"


def need_image(folder: Path) -> None:
    """Give the image to the data folder of a cloud. Skip on a machine that has not built it.

    Also under CI: a build takes minutes, and the machine's own mirrors of packages.
    """
    need_namespaces()
    if not shelf.has(IMAGES, shelf.DEBIAN):
        pytest.skip("needs the image debian: make image")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "images").symlink_to(IMAGES)
