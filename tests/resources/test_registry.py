"""The catalogue of types."""

import asyncio
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
from importlib import import_module

import hearth.resources
from hearth.cloud.fault import NoService
from hearth.model.state import Action
from hearth.resources.actions import handles
from hearth.resources.base import ResourceType
from hearth.resources.capabilities import AnyAttribute, AnyProperty, Signalled
from hearth.resources.index import INDEX, REVIVED
from hearth.resources.known import INSTEAD, KNOWN, RETIRED
from hearth.resources.lookup import KINDS
from hearth.resources.registry import (
    Catalog,
    builtin_types,
    default_catalog,
    revived_types,
    type_of_kind,
)
from hearth.schema.named import CHECKS
from tests.resources.facts import FACTS

CONSTRAINTS = """
barbican.container barbican.secret blazar.reservation cinder.backup cinder.qos_specs
cinder.snapshot cinder.volume cinder.vtype cron_expression designate.zone dns_domain
dns_name expiration glance.image ip_addr ip_or_cidr ironic.node ironic.portgroup iso_8601
json_string keystone.domain keystone.group keystone.project keystone.region keystone.role
keystone.service keystone.user mac_addr magnum.cluster_template manila.share_network
manila.share_snapshot manila.share_type mistral.workflow net_cidr neutron.address_scope
neutron.flow_classifier neutron.lbaas.listener neutron.lbaas.loadbalancer
neutron.lbaas.pool neutron.lbaas.provider neutron.network neutron.port neutron.port_pair
neutron.port_pair_group neutron.qos_policy neutron.router neutron.security_group
neutron.segment neutron.subnet neutron.subnetpool neutron.taas.tap_flow
neutron.taas.tap_service nova.flavor nova.host nova.keypair nova.network nova.server
octavia.availabilityzone octavia.availabilityzoneprofile octavia.flavor
octavia.flavorprofile octavia.l7policy octavia.listener octavia.loadbalancer octavia.pool
rel_dns_name test_constr timezone trove.flavor zaqar.queue
""".split()  # noqa: SIM905
"""The named constraints of Heat."""


def test_types_are_found_by_their_exact_name():
    catalog = default_catalog()
    assert catalog.find("OS::Neutron::Net") is builtin_types()["OS::Neutron::Net"]
    assert catalog.find("OS::Neutron::net") is None
    assert list(catalog.names()) == sorted(catalog.names())


def test_no_type_of_heat_is_missing():
    assert FACTS.keys() == KNOWN
    assert [name for name in sorted(KNOWN) if default_catalog().find(name) is None] == []


def test_a_type_that_is_gone_names_what_does_its_work():
    catalog = default_catalog()
    gone = [name for name, fact in FACTS.items() if fact["support"]["status"] == "HIDDEN"]
    told = {name: catalog.missing(name) for name in gone if catalog.find(name) is None}
    assert told == {}
    assert "use OS::Magnum::Cluster" in catalog.find("OS::Magnum::Bay").support.message
    assert "use OS::Octavia::Pool" in catalog.find("OS::Neutron::Pool").support.message
    assert "retired" in catalog.find("OS::Sahara::Job").support.message
    assert set(INSTEAD.values()) <= KNOWN


def test_retired_types_are_the_placeholders_of_heat():
    placeholders = {name for name, fact in FACTS.items() if fact["category"] == "placeholder"}
    assert placeholders - {"OS::Heat::None"} == RETIRED
    catalog = default_catalog()
    for name in RETIRED:
        kind = catalog.find(name)
        assert kind.name == name
        assert kind.support.hidden
        assert isinstance(kind, AnyProperty)
        assert isinstance(kind, AnyAttribute)
        assert kind.support.message
    assert not RETIRED & set(catalog.names())


def test_every_retired_type_names_the_type_to_write_or_says_that_there_is_none():
    catalog = default_catalog()
    types = builtin_types()
    for name in RETIRED:
        words = re.findall(r"[\w:]+", catalog.find(name).support.message)
        named = [word for word in words if word.startswith(("OS::", "AWS::"))]
        assert all(word in types for word in named), name
        assert named or "no type replaces it" in catalog.find(name).support.message, name


def test_revived_types_take_the_place_of_placeholders_only_if_that_is_switched_on():
    off, on = default_catalog(), default_catalog(revive=True)
    assert not INDEX.keys() & REVIVED.keys()
    assert REVIVED.keys() <= RETIRED
    for name in RETIRED:
        assert isinstance(off.find(name), AnyProperty)
        assert isinstance(on.find(name), AnyProperty) == (name not in REVIVED)
        assert on.find(name).support.message == off.find(name).support.message
    assert not REVIVED.keys() & set(off.names())
    assert set(on.names()) == {*off.names(), *REVIVED}
    assert not any(on.find(name).support.hidden for name in REVIVED)


def test_a_record_belongs_to_the_form_of_its_type_that_made_it():
    for catalog in (default_catalog(), default_catalog(revive=True)):
        for name, kind in revived_types().items():
            assert kind.name == name
            assert kind.recorded_as != name
            assert type_of_kind(kind.recorded_as, catalog) is kind
            assert pickle.loads(pickle.dumps(kind)) is kind
            assert isinstance(type_of_kind(name, catalog), AnyProperty)
            assert catalog.find(kind.recorded_as) is None  # no template can name it
        assert type_of_kind("OS::Nova::Server", catalog) is catalog.find("OS::Nova::Server")
        assert type_of_kind("OS::No::Type", catalog) is None


def test_a_type_of_one_s_own_joins_the_catalogue():
    class Mine(ResourceType):
        type_name = "My::Own"

    catalog = default_catalog().with_type(Mine())
    assert catalog.find("My::Own").name == "My::Own"
    assert "show" in Mine.attributes


def test_types_without_their_service_are_named():
    class Bare:
        async def endpoint(self, service):
            if service == "object-store":
                raise NoService(service)
            return "http://there"

    catalog = Catalog(builtin_types())
    wanted = ["OS::Swift::Container", "OS::Nova::Server", "OS::Heat::Value"]
    found = asyncio.run(catalog.unavailable(wanted, Bare()))
    assert found == {"OS::Swift::Container": "this cloud has no object-store service"}


def test_what_a_type_does_is_known_without_asking_it_for_steps():
    types = builtin_types()
    assert handles(types["OS::Nova::Server"], Action.SUSPEND)
    assert not handles(types["OS::Neutron::Net"], Action.SUSPEND)
    assert handles(types["OS::Neutron::Net"], Action.CHECK)
    assert isinstance(types["OS::Heat::WaitConditionHandle"], Signalled)
    assert not isinstance(types["OS::Nova::Server"], Signalled)


def test_every_declared_type_stands_in_the_index():
    declared = {
        kind.type_name: kind.__module__
        for module in pkgutil.walk_packages(hearth.resources.__path__, "hearth.resources.")
        for kind in vars(import_module(module.name)).values()
        if inspect.isclass(kind) and issubclass(kind, ResourceType) and "type_name" in vars(kind)
    }
    listed = {**INDEX, **REVIVED}
    unlisted = {name: declared[name] for name in declared if listed.get(name) != declared[name]}
    gone = sorted(listed.keys() - declared.keys())
    where = "_MODULES, or _REVIVED for a retired type, in src/hearth/resources/index.py"
    assert not unlisted, f"add to {where}: {unlisted}"
    assert not gone, f"remove from {where}, no class declares them: {gone}"


def test_a_template_loads_the_types_it_names_and_no_others():
    code = """
import sys
from hearth.resources.lookup import KINDS
from hearth.resources.registry import default_catalog
catalog = default_catalog()
before = set(sys.modules)
assert "OS::Nova::Server" in catalog.names()
catalog.find("OS::Cinder::Volume")
print(*sorted(m for m in set(sys.modules) - before if m.startswith("hearth.resources.")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "hearth.resources.cinder.volume" in loaded
    assert not [name for name in loaded if ".nova" in name or ".neutron" in name], loaded


def test_every_constraint_that_templates_may_name_is_known():
    assert set(CONSTRAINTS) <= KINDS.keys() | CHECKS.keys()


def test_every_type_has_a_sentence_that_dashboards_show():
    for kind in builtin_types().values():
        words = " ".join((type(kind).__dict__.get("__doc__") or "").split())
        assert words.endswith("."), kind.name
        assert words != kind.name
