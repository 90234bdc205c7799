"""Two callers of the network service."""

import pytest

from tests.devcloud.neutron.caller import Network
from tests.devcloud.running import Served


@pytest.fixture
def demo(fresh: Served) -> Network:
    return Network(fresh)


@pytest.fixture
def admin(fresh: Served) -> Network:
    return Network(fresh, "admin")
