"""tempest.conf for a running `hearth dev`: its cloud, users, image, flavors and networks."""

import configparser
import io
from collections.abc import Mapping
from pathlib import Path

HIDDEN_TAG = "data-processing-cluster"
PASSWORD = "secret"
REGION = "RegionOne"
SERVICES = ("cinder", "glance", "neutron", "nova", "octavia", "swift", "zaqar")
"""What devcloud has; the suite's other services are told to be missing."""
MISSING = ("aodh", "gnocchi", "ceilometer", "mistral", "sahara", "trove")


def tempest_conf(auth_url: str, folder: Path) -> str:
    """The file's text for the suite of stacks. Locks and the suite's log go to the folder."""
    login = {"auth_url": auth_url, "region": REGION}
    sections = _common(auth_url, folder)
    sections["auth"]["use_dynamic_credentials"] = "false"
    sections["service_available"] = {
        "heat": "true",
        **dict.fromkeys(SERVICES, "true"),
        **dict.fromkeys(MISSING, "false"),
    }
    sections["heat_features_enabled"] = {"stack_cancel": "true", "multi_cloud": "true"}
    sections["heat_plugin"] = {
        **login,
        "username": "demo",
        "password": PASSWORD,
        "admin_username": "admin",
        "admin_password": PASSWORD,
        "project_name": "demo",
        "admin_project_name": "admin",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
        "instance_type": "m1.small",
        "minimal_instance_type": "m1.nano",
        "image_ref": "fedora-20.x86_64",
        "minimal_image_ref": "cirros",
        "fixed_network_name": "private",
        "fixed_subnet_name": "private-subnet",
        "network_for_ssh": "private",
        "floating_network_name": "public",
        "hidden_stack_tag": HIDDEN_TAG,
        "credential_secret_id": "none",  # its one test wants one and makes no use of it
        "build_interval": "1",
        "build_timeout": "90",
        "ssh_timeout": "10",
        "connectivity_timeout": "10",
    }
    return _text(sections)


def cluster_conf(auth_url: str, folder: Path) -> str:
    """The file's text for the suite of clusters: its tests create projects and users themselves."""
    sections = _common(auth_url, folder)
    sections["auth"] |= {
        "use_dynamic_credentials": "true",
        "create_isolated_networks": "false",
        "tempest_roles": "member",
    }
    sections["service_available"] = dict.fromkeys(("magnum", *SERVICES), "true")
    sections["enforce_scope"] = {"magnum": "true"}  # else its tests of roles are left out
    sections["magnum"] = {
        "image_id": "fedora-coreos-kube",
        "flavor_id": "m1.tiny",
        "master_flavor_id": "m1.tiny",
        "nic_id": "public",
        "keypair_name": "default",
        "cluster_creation_timeout": "3",  # minutes
        "cluster_delete_timeout": "3",
    }
    return _text(sections)


def _common(auth_url: str, folder: Path) -> dict[str, dict[str, str]]:
    """The sections that every suite reads."""
    return {
        "DEFAULT": {
            "debug": "false",
            "use_stderr": "false",
            "log_file": str(folder / "tempest.log"),
        },
        "oslo_concurrency": {"lock_path": str(folder)},
        "auth": {
            "admin_username": "admin",
            "admin_password": PASSWORD,
            "admin_project_name": "admin",
            "admin_domain_name": "Default",
        },
        "identity": {"uri_v3": auth_url, "region": REGION, "auth_version": "v3"},
    }


def _text(sections: Mapping[str, Mapping[str, str]]) -> str:
    file = configparser.ConfigParser(interpolation=None, default_section="none")
    file.read_dict(sections)
    text = io.StringIO()
    file.write(text)
    return text.getvalue()


def stestr_conf(discovery: Path, top: Path, group: str) -> str:
    """.stestr.conf: what is found where, and which tests stay together in one process."""
    return f"[DEFAULT]\ntest_path={discovery}\ntop_dir={top}\ngroup_regex={group}\n"
