"""The API versions of the metadata service, EC2 and OpenStack, oldest first."""

from __future__ import annotations

LATEST = "latest"
OPENSTACK = (
    "2012-08-10",
    "2013-04-04",
    "2013-10-17",
    "2015-10-15",
    "2016-06-30",
    "2016-10-06",
    "2017-02-22",
    "2018-08-27",
    "2020-10-14",
)
EC2 = (
    "1.0",
    "2007-01-19",
    "2007-03-01",
    "2007-08-29",
    "2007-10-10",
    "2007-12-15",
    "2008-02-01",
    "2008-09-01",
    "2009-04-04",
)


def reached(version: str, since: str) -> bool:
    """Return whether an API version is `since` or a later one."""
    return version == LATEST or version >= since
