import pytest

from hearth.authoring.lsp.definition import definition
from tests.authoring.lsp.desk import CFN, HOT, Desk, split

CHILD = HOT + "parameters:\n  size: {type: number}\noutputs:\n  address: {value: 1}\n"


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "child.yaml").write_text(CHILD)
    (tmp_path / "lib" / "boot.sh").write_text("x")
    (tmp_path / "env.yaml").write_text("resource_registry:\n  My::Disk: lib/child.yaml\n")
    return Desk(tmp_path)


def leads_to(desk, text, name="main.yaml"):
    """The file, and the word in it, that the mark leads to."""
    target = definition(desk.context(text, name), desk.schemas)
    if target is None:
        return None
    if target.document is None:
        return target.path.name
    return target.path.name, target.document.text.source[target.start : target.end], target.start


BODY = HOT + (
    "parameters:\n  size: {type: number}\n"
    "conditions:\n  big: {equals: [{get_param: size}, 20]}\n  not_big: {not: big}\n"
    "resources:\n"
    "  web:\n    type: OS::Heat::Value\n    condition: big\n"
    "    properties: {value: {get_param: size}}\n"
    "  db:\n    type: My::Disk\n    depends_on: web\n    properties: {size: 1}\n"
    "  g:\n    type: OS::Heat::ResourceGroup\n    properties:\n"
    "      resource_def: {type: lib/child.yaml, properties: {size: 3}}\n"
    "  c:\n    type: lib/child.yaml\n    depends_on: [web, db]\n    properties: {size: 2}\n"
    "outputs:\n"
    "  a: {value: {get_attr: [web, value]}}\n"
    "  b: {value: {get_resource: web}}\n"
    "  c: {value: {get_attr: [c, address]}}\n"
    "  d: {value: {get_attr: [db, address]}}\n"
    "  e: {value: {get_file: lib/boot.sh}}\n"
    "  f: {value: {if: [not_big, 1, 2]}}\n"
    "  g: {value: {get_param: nothing}}\n"
)


@pytest.mark.parametrize(
    ("place", "word", "section"),
    [
        ("{value: {get_param: si|ze}", "size", "parameters"),
        ("get_attr: [we|b,", "web", "resources"),
        ("get_resource: we|b", "web", "resources"),
        ("depends_on: we|b", "web", "resources"),
        ("depends_on: [web, d|b]", "db", "resources"),
        ("condition: bi|g", "big", "conditions"),
        ("not: bi|g", "big", "conditions"),
        ("if: [not_|big", "not_big", "conditions"),
    ],
)
def test_names_lead_to_where_they_are_defined(desk, place, word, section):
    source, _ = split(place)
    assert BODY.count(source) == 1
    found = leads_to(desk, BODY.replace(source, place))

    assert found[:2] == ("main.yaml", word)
    after = BODY.index(f"\n{section}:")
    assert found[2] == BODY.index(f"\n  {word}:", after) + 3


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("type: lib/chi|ld.yaml\n", "child.yaml"),
        ("type: lib/chi|ld.yaml,", "child.yaml"),
        ("{si|ze: 3}", ("child.yaml", "size", CHILD.index("size"))),
        ("type: My::D|isk", "child.yaml"),
        ("get_file: lib/bo|ot.sh", "boot.sh"),
        ("{si|ze: 1}", ("child.yaml", "size", CHILD.index("size"))),
        ("{si|ze: 2}", ("child.yaml", "size", CHILD.index("size"))),
        ("[c, add|ress]", ("child.yaml", "address", CHILD.index("address"))),
        ("[db, add|ress]", ("child.yaml", "address", CHILD.index("address"))),
        ("type: OS::Heat::V|alue", None),
        ("get_param: noth|ing", None),
        ("[web, val|ue]", None),
    ],
)
def test_child_templates_and_files_are_found(desk, place, found):
    source, _ = split(place)
    assert BODY.count(source) == 1

    assert leads_to(desk, BODY.replace(source, place)) == found


def test_a_child_that_is_open_and_on_no_disk_is_found(desk):
    desk.open("heat_template_version: 2018-08-31\nparameters:\n  a: {type: string}\n", "new.yaml")
    text = HOT + "resources:\n  n: {type: new.yaml, properties: {|a: 1}}\n"

    assert leads_to(desk, text)[:2] == ("new.yaml", "a")


def test_the_configured_environments_count_instead_of_those_beside(desk, tmp_path):
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "other.yaml").write_text(CHILD)
    (other / "site.yaml").write_text("resource_registry:\n  My::Disk: other.yaml\n")
    desk.files.configured = (other / "site.yaml",)
    text = HOT + "resources:\n  n: {type: My::D|isk}\n"

    assert leads_to(desk, text) == "other.yaml"


def test_environments_lead_to_templates_and_parameters(desk):
    desk.open(BODY, "main.yaml")

    registry = "resource_registry:\n  My::Disk: lib/chi|ld.yaml\n"
    assert leads_to(desk, registry, "env.yaml") == "child.yaml"
    key = "resource_registry:\n  My::D|isk: lib/child.yaml\n"
    assert leads_to(desk, key, "env.yaml") == "child.yaml"
    value = "resource_registry: {}\nparameters:\n  si|ze: 5\n"
    assert leads_to(desk, value, "env.yaml")[:2] == ("main.yaml", "size")


def test_the_other_flavour(desk):
    body = CFN + (
        "Parameters:\n  p: {Type: String}\n"
        "Resources:\n  a: {Type: 'OS::Heat::Value', Properties: {value: {Ref: p}}}\n"
        "Outputs:\n  o: {Value: {'Fn::GetAtt': [a, value]}}\n  r: {Value: {Ref: a}}\n"
    )
    for place, word in [("{Ref: |p}", "p"), ("{Ref: |a}", "a"), ("[|a,", "a")]:
        assert leads_to(desk, body.replace(split(place)[0], place))[:2] == ("main.yaml", word)
