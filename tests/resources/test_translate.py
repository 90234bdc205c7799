"""Translation rules, names and constraints."""

import asyncio

import pytest

from hearth.cloud import Response
from hearth.cloud.contract import Whoami
from hearth.cloud.listing import ListingCloud
from hearth.model.span import Span
from hearth.model.unknown import UNKNOWN, Unknown, unknown_reference
from hearth.resources.lookup import KINDS, Names, check_constraints
from hearth.resources.registry import builtin_types
from hearth.resources.translate import move, resolve
from hearth.schema import Add, Custom, Delete, Prop, Replace, Resolve, ValueKind


class Town(ListingCloud):
    """Networks and key pairs."""

    def __init__(self):
        super().__init__()
        self.calls = []

    async def request(self, service, method, path, **_kw):
        self.calls.append(path)
        if path == "/os-keypairs":
            return Response(200, {}, {"keypairs": [{"keypair": {"name": "mine"}}]})
        networks = [
            {"id": "n1", "name": "inner", "project_id": "p"},
            {"id": "n2", "name": "outer", "project_id": "p"},
            {"id": "n3", "name": "twice", "project_id": "p"},
            {"id": "n4", "name": "twice", "project_id": "p"},
            {"id": "n5", "name": "common", "project_id": "p"},
            {"id": "n6", "name": "common", "project_id": "q"},
        ]
        return Response(200, {}, {"networks": networks})

    async def whoami(self):
        return Whoami("u", "p", None, (), "", None)


RULES = (
    Replace(("network",), value_path=("network_id",)),
    Resolve(("network",), "neutron.network"),
    Resolve(("nics", "network"), "neutron.network"),
    Resolve(("others",), "neutron.network"),
)


def settled(properties, town=None):
    return asyncio.run(resolve(properties, RULES, Names(town or Town()), Span(path="x")))


def test_names_become_ids_wherever_they_stand_with_one_list_call():
    town = Town()
    given = {"network": "inner", "nics": [{"network": "outer"}, {"port": 1}], "others": ["n2"]}
    found = settled(given, town)
    assert found.problems == ()
    assert found.properties == {
        "network": "n1",
        "nics": [{"network": "n2"}, {"port": 1}],
        "others": ["n2"],
    }
    assert town.calls == ["/v2.0/networks"]


def test_what_is_an_id_beyond_doubt_costs_no_call():
    town = Town()
    for ident in ("05daf9f2-84f2-4525-a52d-f167cb68a355", "ae1840bac5e7516f85e13a4a9d34a6f7"):
        assert settled({"network": ident}, town).properties == {"network": ident}
    assert town.calls == []


def test_an_older_property_moves_to_the_newer_one():
    assert settled({"network_id": "inner"}).properties == {"network": "n1"}
    both = settled({"network_id": "inner", "network": "outer"})
    assert "exclude each other" in both.problems[0].message


def test_what_is_not_there_is_a_problem_with_a_suggestion():
    (problem,) = settled({"network": "iner"}).problems
    assert "The Network (iner) could not be found. Did you mean inner?" in problem.message


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "There is none."),
        (["ubuntu-kube", "cirros"], "Known: cirros, ubuntu-kube."),
        ([f"image {n}" for n in range(7)], "Known: image 0, image 1, image 2, image 3, image 4 and "
                                           "2 more."),
        (["ubuntu-24.04", "ubuntu-kube"], "Did you mean ubuntu-24.04?"),
    ],
)  # fmt: skip
def test_names_are_suggested_only_if_they_are_alike_else_they_are_listed(names, words):
    class Images(Town):
        async def listing(self, *_, **__):
            return [{"id": name, "name": name} for name in names]

    asked = [("glance.image", "ubuntu-24", None)]
    (problem,) = asyncio.run(check_constraints(asked, Images()))
    assert problem.text == f"The Image (ubuntu-24) could not be found. {words}"


def test_an_ambiguous_name_is_a_problem_unless_one_is_the_project_s_own():
    assert "2 objects of type" in settled({"network": "twice"}).problems[0].message
    assert settled({"network": "common"}).properties == {"network": "n5"}


def test_what_is_not_known_yet_stays():
    unknown = Unknown(frozenset({"net"}))
    assert settled({"network": unknown}).properties == {"network": unknown}


def test_values_are_added_and_dropped():
    rules = (Add(("all",), ("x",), value_path=("one",)), Delete(("one",)))
    assert move({"all": ["a"], "one": "b"}, rules).properties == {"all": ["a", "x", "b"]}
    items = (Replace(("nics", "network"), value_name="uuid"),)
    assert move({"nics": [{"uuid": "n"}]}, items).properties == {"nics": [{"network": "n"}]}


CASES = [
    ("ip_addr", "10.0.0.1", True),
    ("ip_addr", "10.0.0", False),
    ("net_cidr", "10.0.0.0/24", True),
    ("net_cidr", "10.0.0.0", False),
    ("mac_addr", "fa:16:3e:00:00:01", True),
    ("mac_addr", "fa:16", False),
    ("dns_name", "a.example.org", True),
    ("dns_name", "-a.example.org", False),
    ("dns_name", "host.123", True),
    ("dns_name", "8.8.8.8", True),
    ("dns_name", "host.123.", False),
    ("dns_domain", "example.org.", True),
    ("dns_domain", "example.org", False),
    ("rel_dns_name", "a.b", True),
    ("rel_dns_name", "a.b.", False),
    ("iso_8601", "2026-01-01T00:00:00Z", True),
    ("iso_8601", "soon", False),
    ("timezone", "Europe/Berlin", True),
    ("timezone", "Middle/Earth", False),
    ("cron_expression", "*/5 * * * *", True),
    ("cron_expression", "often", False),
    ("json_string", "{}", True),
    ("json_string", "{", False),
    ("neutron.network", "inner", True),
    ("neutron.network", "nowhere", False),
    ("nova.keypair", "mine", True),
    ("nova.keypair", "yours", False),
    ("nova.keypairs", "mine", False),
]


@pytest.mark.parametrize(("name", "value", "fine"), CASES)
def test_named_constraints(name, value, fine):
    problems = asyncio.run(check_constraints([(name, value, Span())], Town()))
    assert (problems == []) is fine


def customs(prop: Prop):
    yield from (one.name for one in prop.constraints if isinstance(one, Custom))
    inner = [prop.schema] if isinstance(prop.schema, Prop) else (prop.schema or {}).values()
    for one in inner:
        yield from customs(one)


def test_every_constraint_of_a_type_is_known():
    from hearth.schema.named import CHECKS

    used = {n for t in builtin_types().values() for p in t.properties.values() for n in customs(p)}
    assert used - CHECKS.keys() - KINDS.keys() == set()


class Twins(ListingCloud):
    """Two of everything, of the same name, and a near namesake."""

    async def request(self, service, method, path, **_kw):
        names = {"one": "twice", "two": "twice", "three": "thrice"}
        things = [{"id": ident, "name": name} for ident, name in names.items()]
        return Response(200, {}, {path.partition("?")[0].rpartition("/")[2]: things})

    async def whoami(self):
        return Whoami("u", "p", None, (), "", None)


NAMED = [
    pytest.param(kind, rule, id=f"{kind.name} {'.'.join(rule.path)}")
    for kind in builtin_types().values()
    for rule in kind.translation
    if isinstance(rule, Resolve) and rule.path[0] in kind.properties
    if "name" in KINDS[rule.finder.format(object_type="network")].matches
]


def naming(kind, path, name):
    """Properties in which the name stands where a rule looks for it."""
    first, *inner = path
    prop, value = kind.properties[first], name
    for entry in reversed(inner):
        value = {entry: value}
    return {first: [value] if prop.kind is ValueKind.LIST else value, "object_type": "network"}


@pytest.mark.parametrize(("kind", "rule"), NAMED)
@pytest.mark.parametrize(
    ("name", "words"), [("twice", "2 objects of type"), ("thrise", "Did you mean thrice")]
)
def test_names_that_tell_nothing_are_refused_wherever_a_type_takes_one(kind, rule, name, words):
    properties = naming(kind, rule.path, name)
    found = asyncio.run(resolve(properties, kind.translation, Names(Twins()), Span(path="x")))
    (problem,) = found.problems
    assert words in problem.message
    assert name in problem.message


@pytest.mark.parametrize(
    ("rule", "given", "moved"),
    [
        (Replace(("new",), value_path=("old",)), {"old": UNKNOWN}, {"new": UNKNOWN}),
        (Replace(("new",), value_name="old"), {"old": UNKNOWN}, {"new": UNKNOWN}),
        (Replace(("new",), value_name="old"), {"old": UNKNOWN, "new": 1}, {"new": UNKNOWN}),
        (Replace(("new",), value_name="old", entry="a"), {"old": UNKNOWN}, {"new": UNKNOWN}),
        (Add(("new",), value_path=("old",)), {"old": UNKNOWN}, {"new": [UNKNOWN]}),
        (Add(("new",), values=[1]), {"new": UNKNOWN}, {"new": UNKNOWN}),
    ],
)
def test_what_is_not_known_yet_is_not_known_under_its_new_name_either(rule, given, moved):
    found = move(given, [rule, Delete(("old",))])
    assert (found.properties, found.problems) == (moved, ())


def test_a_value_that_will_certainly_be_there_excludes_another():
    rule = Replace(("new",), value_name="old")
    assert move({"old": unknown_reference("made"), "new": 1}, [rule]).problems
