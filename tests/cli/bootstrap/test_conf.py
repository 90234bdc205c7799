"""The configuration of a bootstrap: what it writes is what `hearth serve` reads."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hearth.cli.bootstrap import conf
from hearth.cli.bootstrap.desired import BootstrapOptions, DesiredKeystone, apis_of, region_of
from hearth.config.configuration import read
from hearth.config.from_conf import settings
from hearth.config.wrong import WrongSetting

KEYSTONE = "http://keystone.example:5000"
OPTIONS = BootstrapOptions("http://heat.example:8004", clusters=True)
DESIRED = DesiredKeystone(OPTIONS, "RegionOne", apis_of(OPTIONS), "service-secret", "domain-secret")
VISIBLE = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1)


def entries(desired: DesiredKeystone = DESIRED, verify: bool | str = True) -> list[conf.Setting]:
    return list(conf.entries(desired, KEYSTONE, verify, "k" * 64, "sqlite:////tmp/hearth.db"))


def written(tmp_path: Path, found: list[conf.Setting]) -> Path:
    path = tmp_path / "hearth.conf"
    path.unlink(missing_ok=True)
    conf.write(path, conf.text(found))
    return path


def test_every_setting_is_known_and_has_an_effect(tmp_path: Path):
    for verify in (False, "/etc/ssl/certs/ca-certificates.crt"):
        told = read([written(tmp_path, entries(verify=verify))])
        assert (dict(told.idle), dict(told.unknown)) == ({}, {})


def test_the_settings_of_a_process_are_those_of_the_bootstrap(tmp_path: Path):
    found = settings(read([written(tmp_path, entries())]).conf, "", "")
    assert found.auth_url == f"{KEYSTONE}/v3"
    assert (found.service_user.username, found.service_user.password) == ("heat", "service-secret")
    assert found.service_user.project_name == "service"
    admin = found.cloud.domain_admin
    assert admin is not None
    assert (admin.username, admin.password) == ("heat_domain_admin", "domain-secret")
    assert (found.stack_user_domain_name, found.cloud.region) == ("heat", "RegionOne")
    assert found.heat_url == "http://heat.example:8004/v1/{project}"
    assert found.heat_metadata_server_url == "http://heat.example:8000"
    assert found.clusters.url == "http://heat.example:9511/v1"


def test_the_file_is_for_its_owner_and_is_never_overwritten(tmp_path: Path):
    path = written(tmp_path, entries())
    before = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(WrongSetting, match="File exists"):
        conf.write(path, "something else")
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_not_known_stands_in_a_comment(tmp_path: Path):
    told = replace(DESIRED, service_password=None)
    text = conf.text(entries(told))
    assert "# password = the password of heat\n" in text
    assert read([written(tmp_path, entries(told))]).conf.keystone_authtoken.password is None


@given(password=VISIBLE)
@example(password="'")
@example(password=" '$x' ")
@example(password="\\$")
def test_a_password_is_read_as_it_was_written(password: str, tmp_path_factory):
    folder = tmp_path_factory.mktemp("conf")
    told = replace(DESIRED, service_password=password)
    if "\\$" in password:  # there is no way to write it
        with pytest.raises(
            WrongSetting, match="password: the configuration file cannot hold a backslash"
        ):
            conf.text(entries(told))
        return
    assert read([written(folder, entries(told))]).conf.keystone_authtoken.password == password


def test_a_file_of_an_earlier_run_has_its_passwords_and_differences(tmp_path: Path):
    former = conf.Former(written(tmp_path, entries()))
    assert former.service_password("heat") == "service-secret"
    assert former.service_password("somebody") is None
    assert former.domain_password("heat_domain_admin") == "domain-secret"
    assert former.domain_password("somebody") is None
    assert former.differences(entries()) == []
    other = replace(DESIRED, region="RegionTwo", domain_password="another")
    assert former.differences(entries(other)) == [
        "region_name_for_services is RegionOne, not RegionTwo",
        "stack_domain_admin_password is another",
    ]


def addresses(options: BootstrapOptions) -> list[tuple[str, str]]:
    return [(api.public, api.internal) for api in apis_of(options)]


def test_addresses_follow_from_the_usual_port():
    assert addresses(BootstrapOptions("http://[::1]:8004/v1/", internal_url="http://in:8004")) == [
        ("http://[::1]:8004/v1/$(project_id)s", "http://in:8004/v1/$(project_id)s"),
        ("http://[::1]:8000/v1", "http://in:8000/v1"),
    ]
    given = BootstrapOptions("https://cloud.example/heat", cfn_url="https://cloud.example/cfn/v1")
    assert addresses(given) == [
        ("https://cloud.example/heat/v1/$(project_id)s",) * 2,
        ("https://cloud.example/cfn/v1",) * 2,
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (BootstrapOptions("heat.example:8004"), "--public-url: expected https://HOST"),
        (BootstrapOptions("http://heat.example:8004/v1/$(project_id)s"), "--public-url: expected"),
        (BootstrapOptions("http://user@heat.example:8004"), "--public-url: expected"),
        (BootstrapOptions("http://heat.example:70000"), "--public-url: expected"),
        (BootstrapOptions("https://heat.example"), "--cfn-url: not set"),
        (
            BootstrapOptions("https://heat.example", cfn_url="http://a", clusters=True),
            "--cluster-url: not",
        ),
        (
            BootstrapOptions("http://heat.example:8004", cluster_url="http://a"),
            "only together with --clusters",
        ),
    ],
)
def test_a_wrong_address_is_named(options: BootstrapOptions, words: str):
    with pytest.raises(WrongSetting, match=words.replace("(", r"\(")):
        apis_of(options)


def test_the_region_exists_or_is_the_only_one():
    assert region_of(None, ["RegionOne"]) == "RegionOne"
    with pytest.raises(WrongSetting, match="it has A, B"):
        region_of(None, ["B", "A"])
    with pytest.raises(WrongSetting, match="no region RegionOn; did you mean RegionOne"):
        region_of("RegionOn", ["RegionOne"])
