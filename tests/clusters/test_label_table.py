"""The table of Magnum's labels: it is complete, and it is what the code and the page say."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hearth.clusters.definition import FROM_LABELS, PODS_NETWORK
from hearth.clusters.health import HEALER, reports_itself
from hearth.clusters.label_table import LABELS, label_warnings
from hearth.clusters.labels import BOOLEANS, NETWORKS, NUMBERS, VALUES, number
from hearth.clusters.objects import WORKER
from hearth.service.clusters.template_files import TEMPLATES
from tests.clusters.examples import CLUSTER, group, request

PAGE = Path(__file__).parents[2] / "docs" / "clusters.md"
MAGNUM = 99  # labels of its Heat driver
BESIDE = {  # what else a label needs before it has an effect
    "auto_healing_controller": {"auto_healing_enabled": "true"},
    "auto_healing_enabled": {"auto_healing_controller": HEALER},
    "etcd_volume_type": {"etcd_volume_size": "2"},
    "flannel_network_cidr": {},
}


def value_of(name: str) -> str:
    """Return a value for a label that is not the default."""
    if name == "auto_healing_controller":
        return HEALER
    if name in NUMBERS:
        return "7"
    if name in BOOLEANS:
        return "false" if name == "octavia_lb_healthcheck" else "true"
    if name in (*NETWORKS, "master_lb_allowed_cidrs"):
        return "10.77.0.0/16"
    return next(filter(None, VALUES.get(name, ("v9",))))


def test_the_templates_use_each_parameter_that_a_label_sets():
    text = (TEMPLATES / "kubecluster.yaml").read_text()
    unused = {name for name in FROM_LABELS.values() if f"get_param: {name}}}" not in text}
    assert unused == {"kube_tag"}  # it sets kube_version, too


def effect(labels: dict[str, str]) -> tuple[object, ...]:
    """Return all that follows from the labels of a cluster: stacks, health, smallest number."""
    cluster = {"labels": labels, "master_lb_enabled": True, "docker_volume_size": 3}
    drivers = [{"network_driver": driver} for driver in ("flannel", "calico")]
    stacks = [request(template=one, cluster=cluster) for one in drivers]
    extra = group("more", WORKER, is_default=False, labels=labels)
    return (
        *((one.parameters, one.environment_files) for one in stacks),
        reports_itself(replace(CLUSTER, labels=labels)),
        number(labels, "min_node_count", 0),
        extra.role,
    )


@pytest.mark.parametrize("name", LABELS)
def test_a_label_has_the_effect_that_the_table_says(name: str):
    beside = BESIDE.get(name, {})
    changes = effect({**beside, name: value_of(name)}) != effect(beside)
    assert changes == bool(LABELS[name].effect)


def test_every_label_that_is_checked_or_passed_on_is_in_the_table():
    read = {*NUMBERS, *BOOLEANS, *NETWORKS, *VALUES, *FROM_LABELS, *PODS_NETWORK.values()}
    assert read <= LABELS.keys()
    assert len(LABELS) == MAGNUM + 12


def test_a_label_without_effect_leads_to_a_warning_unless_it_switches_something_off():
    for name, label in LABELS.items():
        found = label_warnings({name: value_of(name)})
        assert [label.limitation in one for one in found] == ([True] if label.limitation else [])
    assert label_warnings({"kube_dashboard_enabled": "False", "ingress_controller": ""}) == []
    (unknown,) = label_warnings({"kube_tga": "v1"})
    assert unknown == "Label kube_tga is unknown and has no effect; did you mean kube_tag?."


def rows() -> list[str]:
    """Return the rows of the table on the page."""
    found = [
        f"| `{name}` | {label.effect}{f'. {label.limitation}' if label.limitation else ''} |"
        for name, label in LABELS.items()
        if label.effect
    ]
    reasons = dict.fromkeys(one.limitation for one in LABELS.values() if not one.effect)
    for reason in reasons:
        names = [
            name for name, one in LABELS.items() if (one.limitation, one.effect) == (reason, "")
        ]
        found.append(f"| {', '.join(f'`{name}`' for name in names)} | no effect: {reason} |")
    return found


def test_the_page_has_the_table():
    text = PAGE.read_text(encoding="utf-8")
    table = "\n".join(["| label | what it does |", "| --- | --- |", *rows()])
    assert table in text, f"docs/clusters.md needs this table:\n{table}"
