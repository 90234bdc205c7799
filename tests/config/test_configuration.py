"""A heat.conf as operators have it: what counts, what does nothing, what nobody knows."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import fields

from hearth.cloud.reach import Reach, Tls
from hearth.config.configuration import read
from hearth.config.from_conf import settings
from hearth.config.options import OPTIONS
from hearth.config.options.declared import options_of, parts, read_struct
from hearth.config.settings import Settings
from hearth.config.wrong import WrongSetting
from hearth.model.option import Option
from hearth.process.reloading import put as put_live

NEEDED = {
    "DEFAULT": {"auth_encryption_key": "0123456789abcdef0123456789abcdef"},
    "database": {"connection": "mysql://heat:secret@db/heat"},
    "keystone_authtoken": {
        "auth_url": "http://keystone/v3",
        "username": "heat",
        "password": "secret",
    },
}
INSTALLED = """
[DEFAULT]
rpc_response_timeout = 600
num_engine_workers = 4
convergence_engine = true
max_stack_per_tenant = 7
log_dir = /var/log/heat
[keystone_authtoken]
memcached_servers = localhost:11211
auth-url = http://x
[oslo_messaging_rabbit]
heartbeat_timeout_threshold = 60
anything_at_all = 1
[oslo_polcy]
policy_file = x
[heat_api]
max_json_body_size = 3
[paste_deploy]
api_paste_config = /etc/heat/api-paste.ini
"""


def written(folder: Path, *more: str, **sections: dict[str, str]) -> Any:
    """A configuration that works, with other values, read."""
    return read([put(folder, *more, **sections)])


def put(folder: Path, *more: str, **sections: dict[str, str]) -> Path:
    """A file with a configuration that works, and other values."""
    found = {name: dict(values) for name, values in NEEDED.items()}
    for name, values in sections.items():
        found.setdefault(name, {}).update(values)
    text = "\n".join(
        f"[{name}]\n" + "\n".join(f"{key} = {value}" for key, value in values.items())
        for name, values in found.items()
    )
    path = folder / "heat.conf"
    path.write_text("\n".join([text, *more]))
    return path


def test_what_does_nothing_is_named_in_one_warning_and_what_nobody_knows_in_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    told = written(tmp_path, INSTALLED)
    with caplog.at_level(logging.WARNING):
        told.tell()
    first, second = (record.getMessage() for record in caplog.records)
    assert first.partition(": ")[2] == (
        "[keystone_authtoken] memcached_servers, [oslo_messaging_rabbit] anything_at_all, "
        "[oslo_messaging_rabbit] heartbeat_timeout_threshold, [paste_deploy] api_paste_config, "
        "convergence_engine, num_engine_workers, rpc_response_timeout"
    )
    assert second.partition(": ")[2] == (
        "[heat_api] max_json_body_size; did you mean [DEFAULT] max_json_body_size?, "
        "[keystone_authtoken] auth-url; did you mean auth_url?, "
        "[oslo_polcy] policy_file; did you mean [oslo_policy]?, "
        "max_stack_per_tenant; did you mean max_stacks_per_tenant?"
    )


def test_a_configuration_that_is_understood_warns_of_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    written(tmp_path).tell()
    assert caplog.records == []


def changed(option: Option, folder: Path) -> str:
    """Another value than the default, that can be."""
    special = {
        "auth_type": "password",
        "default_notification_level": "error",
        "backends": "disable_by_file",
        "disable_by_file_paths": "80:/nowhere",
        "allowed_source_ranges": "10.0.0.0/8",
        "auth_encryption_key": "f" * 32,
        "template_fetch_networks": "10.0.0.0/8",
        "foreign_cloud_networks": "10.0.0.0/8",
        "cluster_networks": "10.0.0.0/8",
        "shared_services_types": "compute",
        "endpoint_type": "internalURL",
        "insecure": "true",
        "url": "http://heat/%(tenant_id)s",
        "driver": "messagingv2",
        "clouds": "one",
        "default_driver": "k8s_ubuntu_v1",
        "trace_share": "0.5",
    }
    if option.name in special:
        return special[option.name]
    if option.kind is bool:
        return str(not option.default)
    if option.kind in (int, float):
        more = int(option.default or 0) + 7
        return str(more if option.maximum is None or more <= option.maximum else option.maximum - 7)
    return next((one for one in option.choices if one and one != option.default), "other")


BESIDE = {  # what gives a setting its meaning
    "region_name_for_shared_services": {},
    "shared_services_types": {"DEFAULT": {"region_name_for_shared_services": "r"}},
    "stack_domain_admin_password": {"DEFAULT": {"stack_domain_admin": "admin"}},
    "stack_user_domain_name": {"DEFAULT": {"stack_domain_admin": "admin"}},
    "multi_cloud": {"ec2authtoken": {"clouds": "one"}, "ec2authtoken.one": {"auth_url": "http://o"}},
}  # fmt: skip
NOTIFIED = {
    "DEFAULT": {"transport_url": "rabbit://h/"},
    "oslo_messaging_notifications": {"driver": "messaging"},
}
FILES = ("ca_file", "cert_file", "key_file", "cafile", "certfile", "keyfile")
NOT_SETTINGS = {
    "debug",
    "default_log_levels",
    "log_file",
    "log_dir",
    "use_json",
    "auth_type",
    "clouds",
    "clusters",  # what a process does, and where it listens
    "host",
    "port",
    "monitoring_host",
    "monitoring_port",
}
COUNTING = [
    option
    for option in OPTIONS
    if not option.library
    and option.name not in NOT_SETTINGS
    and not option.name.startswith("bind_")
    and option.name not in FILES
]


@pytest.mark.parametrize("option", COUNTING, ids=lambda option: option.place)
def test_what_is_said_to_do_something_does(option: Option, tmp_path: Path):
    beside = {name: dict(values) for name, values in BESIDE.get(option.name, {}).items()}
    if option.group == "trustee":
        beside["trustee"] = {"username": "trusted", "password": "x"}
    elif option.group == "ec2authtoken" and option.name in ("username", "user_id", "password"):
        beside["ec2authtoken"] = {"username": "one", "password": "x"}
    messages = option.name in ("transport_url", "control_exchange", "driver", "topics")
    if messages or option.name.startswith("default_"):
        beside |= {name: dict(values) for name, values in NOTIFIED.items()}
        if option.name == "driver":
            beside["oslo_messaging_notifications"] = {}
    before = settings(written(tmp_path, **beside).conf, "http://me", "http://cfn")
    value = "rabbit://other/" if option.name == "transport_url" else changed(option, tmp_path)
    beside.setdefault(option.group, {})[option.name] = value
    after = settings(written(tmp_path, **beside).conf, "http://me", "http://cfn")
    if option.name in ("driver",):
        assert after.notifications is not None
    changed_fields = {
        one.name
        for one in fields(Settings)
        if one.name != "policy" and getattr(before, one.name) != getattr(after, one.name)
    }
    assert changed_fields
    process = parts_of(before)
    put_live(process, after, SimpleNamespace(stacks=None, clusters=None))
    assert option.live == (process != parts_of(before)), changed_fields
    if option.live:
        assert process == parts_of(after)


def parts_of(found: Settings) -> Any:
    """The parts of a process that a reload reaches, as they are at its start."""
    services = SimpleNamespace(
        limits=found.limits, fetching=found.fetching, clusters=found.clusters, policy=None,
        cluster_policy=None, programs=SimpleNamespace(limits=found.templates),
        store=SimpleNamespace(config=found.store),
    )  # fmt: skip
    return SimpleNamespace(services=services, front=SimpleNamespace(settings=found.front))


STRUCTS = [part for _, part in parts(Settings) if isinstance(part, type) and any(options_of(part))]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda one: one.__name__)
def test_without_a_setting_a_struct_has_its_own_defaults(struct: type[Any], tmp_path: Path):
    assert read_struct(struct, written(tmp_path).conf) == struct()


def test_a_setting_is_declared_once():
    places = [option.place for option in OPTIONS]
    assert sorted(set(places)) == sorted(places)
    assert {option.place for option in options_of(Settings)} < set(places)


def test_services_are_reached_as_their_sections_say(tmp_path: Path):
    told = written(
        tmp_path,
        DEFAULT={"region_name_for_services": "one", "region_name_for_shared_services": "all"},
        clients={"endpoint_type": "internalURL", "insecure": "true"},
        clients_nova={"endpoint_type": "adminURL", "insecure": "false"},
        clients_heat={"url": "http://heat/v1/%(tenant_id)s"},
        clients_keystone={"auth_uri": "http://keystone.public"},
    )
    found = settings(told.conf, "http://me", "http://cfn")
    assert (found.cloud.interface, found.cloud.region) == ("internal", "one")
    assert found.cloud.tls == Tls(insecure=True)
    assert found.cloud.services == {
        "compute": Reach("admin", None, Tls()),
        "image": Reach(region="all"),
        "block-storage": Reach(region="all"),
    }
    assert found.heat_url == "http://heat/v1/{project}"
    assert found.identity_url == "http://keystone.public"


@pytest.mark.parametrize("place", ["clients", "clients_nova", "keystone_authtoken"])
def test_certificates_that_are_not_there_are_told(tmp_path: Path, place: str):
    name = "cafile" if place == "keystone_authtoken" else "ca_file"
    told = written(tmp_path, **{place: {name: "/nowhere.pem"}})
    with pytest.raises(WrongSetting, match=rf"\[{place}\] ca_file"):
        settings(told.conf, "http://me", "http://cfn")


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"trustee": {"username": "x"}}, "[trustee] password: not set"),
        (
            {"keystone_authtoken": {"auth_type": "v3token"}},
            "expected password, got v3token",
        ),
        ({"healthcheck": {"backends": "nonsense"}}, "[healthcheck] backends"),
        ({"healthcheck": {"disable_by_file_paths": "/x"}}, "expected PORT:FILE, got /x"),
        ({"healthcheck": {"allowed_source_ranges": "ten"}}, "allowed_source_ranges: 'ten'"),
    ],
)
def test_values_that_cannot_be_are_told(
    tmp_path: Path, sections: dict[str, dict[str, str]], words: str
):
    told = written(tmp_path, **sections)
    with pytest.raises(WrongSetting) as wrong:
        settings(told.conf, "http://me", "http://cfn")
    assert words in str(wrong.value)


def test_two_files_are_one_configuration_and_the_later_counts(tmp_path: Path):
    written(tmp_path, DEFAULT={"max_stacks_per_tenant": "1"})
    more = tmp_path / "more.conf"
    more.write_text("[DEFAULT]\nmax_stacks_per_tenant = 2\n")
    assert read([tmp_path / "heat.conf", more]).conf.max_stacks_per_tenant == 2


FORMER = [(option, *old) for option in OPTIONS for old in option.formerly]


@pytest.mark.parametrize(
    ("option", "group", "name"), FORMER, ids=lambda one: getattr(one, "name", one)
)
def test_older_names_of_heat_conf_still_count(
    option: Option, group: str, name: str, tmp_path: Path
):
    special = {"driver": "log", "transport_url": "rabbit://other/", "connection": "sqlite:///x"}
    value = special.get(option.name, "other")
    path = tmp_path / "heat.conf"
    path.write_text(f"[{group}]\n{name} = {value}\n")
    found = read([path])
    assert found.unknown == found.idle == {}
    place = found.conf if option.group == "DEFAULT" else found.conf[option.group]
    assert value in str(place[option.name])


def test_there_are_older_names():
    assert ("DEFAULT", "notification_driver") in {(group, name) for _, group, name in FORMER}


def test_a_working_file_of_the_original_is_served(tmp_path: Path):
    more = {
        "oslo_messaging_notifications": {"driver": "log"},
        "ec2authtoken": {"auth_type": "none"},
    }
    found = settings(written(tmp_path, **more).conf, "http://me", "http://cfn")
    assert found.notifications is not None
    assert found.notifications.logged
    assert found.notifications.transport_url == ""


def test_the_log_is_no_broker_for_other_drivers(tmp_path: Path):
    more = {"DEFAULT": {"notification_driver": "log\nnotification_driver = messagingv2"}}
    with pytest.raises(WrongSetting, match="transport_url: not set"):
        settings(written(tmp_path, **more).conf, "http://me", "http://cfn")
    more["DEFAULT"]["transport_url"] = "rabbit://h/"
    both = settings(written(tmp_path, **more).conf, "http://me", "http://cfn").notifications
    assert both is not None
    assert (both.logged, both.envelope) == (True, True)


def test_a_warning_is_not_said_again(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    first = written(tmp_path, DEFAULT={"num_engine_workers": "4", "nonsense": "1"})
    first.tell()
    assert len(caplog.records) == 2
    written(tmp_path, DEFAULT={"num_engine_workers": "5", "nonsense": "2"}).tell(first)
    assert len(caplog.records) == 2
    more = {"num_engine_workers": "5", "nonsense": "2", "periodic_interval": "1", "other": "x"}
    written(tmp_path, DEFAULT=more).tell(first)
    said = [record.getMessage() for record in caplog.records[2:]]
    assert [one.rpartition(": ")[2].split()[0] for one in said] == ["periodic_interval", "other"]


NUMBERS = [one for one in OPTIONS if one.kind in (int, float) and not one.library]


@pytest.mark.parametrize("option", NUMBERS, ids=lambda one: f"{one.group}.{one.name}")
@pytest.mark.parametrize("text", ["", "many", "nan"])
def test_a_number_without_a_number_is_refused_by_name(tmp_path: Path, option: Option, text: str):
    path = put(tmp_path, **{option.group: {option.name: text}})
    if not text and option.default is None:  # as without the line
        read([path])
        return
    with pytest.raises(WrongSetting) as caught:
        read([path])
    words = str(caught.value)
    assert words.startswith(f"{path}: ")
    assert option.name in words
    assert "LocationInfo" not in words


@pytest.mark.parametrize("name", FILES[:3])
def test_a_path_that_cannot_be_is_refused(tmp_path: Path, name: str):
    conf = read([put(tmp_path, clients={name: "\0"})]).conf
    with pytest.raises(WrongSetting, match=r"^\[clients\] ca_file, cert_file, key_file: "):
        settings(conf, "http://me", "http://cfn")
