"""tempest.conf for a running `hearth dev`: its cloud, users, image, flavors and networks."""

import configparser
import io
from pathlib import Path

HIDDEN_TAG = "data-processing-cluster"
PASSWORD = "secret"
SERVICES = ("cinder", "glance", "neutron", "nova", "octavia", "swift", "zaqar")
"""What devcloud has; the suite's other services are told to be missing."""
MISSING = ("aodh", "gnocchi", "ceilometer", "mistral", "sahara", "trove")


def tempest_conf(auth_url: str, folder: Path) -> str:
    """The file's text. Locks and the suite's log go to the folder."""
    login = {"auth_url": auth_url, "region": "RegionOne"}
    sections: dict[str, dict[str, str]] = {
        "DEFAULT": {
            "debug": "false",
            "use_stderr": "false",
            "log_file": str(folder / "tempest.log"),
        },
        "oslo_concurrency": {"lock_path": str(folder)},
        "auth": {
            "use_dynamic_credentials": "false",
            "admin_username": "admin",
            "admin_password": PASSWORD,
            "admin_project_name": "admin",
            "admin_domain_name": "Default",
        },
        "identity": {"uri_v3": auth_url, "region": login["region"], "auth_version": "v3"},
        "service_available": {
            "heat": "true",
            **dict.fromkeys(SERVICES, "true"),
            **dict.fromkeys(MISSING, "false"),
        },
        "heat_features_enabled": {"stack_cancel": "true", "multi_cloud": "true"},
        "heat_plugin": {
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
        },
    }
    file = configparser.ConfigParser(interpolation=None, default_section="none")
    file.read_dict(sections)
    text = io.StringIO()
    file.write(text)
    return text.getvalue()


def stestr_conf(discovery: Path, top: Path) -> str:
    """.stestr.conf: what is found where, and that requests of one gabbi file stay together."""
    return (
        "[DEFAULT]\n"
        f"test_path={discovery}\n"
        f"top_dir={top}\n"
        r"group_regex=heat_tempest_plugin\.tests\.api\.test_heat_api(?:\.|_)([^_]+)"
        "\n"
    )
