"""Fixtures of pytest: `openstack_cloud` and `openstack_project`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hearth_devcloud.testing import Login, TestCloud


@pytest.fixture
def openstack_cloud() -> Iterator[TestCloud]:
    """A new OpenStack cloud for the test."""
    from hearth_devcloud.testing import TestCloud  # not for those who do not use it

    with TestCloud() as cloud:
        yield cloud


@pytest.fixture
def openstack_project(openstack_cloud: TestCloud) -> Login:
    """A new project in the cloud of the test, and a user who is a member of it."""
    return openstack_cloud.project("test-project")
