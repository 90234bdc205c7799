import pytest

from hearth.authoring.lsp.rename import Refused, renamed
from hearth.authoring.lsp.symbol import occurrences, symbol_at
from hearth.template import Environment, compile_template
from tests.authoring.lsp.desk import CFN, HOT, Desk

BODY = HOT + (
    "parameter_groups:\n- label: x\n  parameters: [size, name]\n"
    "parameters:\n  size: {type: number}\n  name: {type: string, default: size}\n"
    "conditions:\n  big: {equals: [{get_param: size}, 20]}\n  both: {and: [big, {not: big}]}\n"
    "resources:\n"
    "  web:\n    type: OS::Heat::Value\n    condition: big\n"
    "    properties: {value: {get_param: [size, 0]}}\n"
    "    metadata: {size: web, big: {get_attr: [other, value]}}\n"
    "  other:\n    type: OS::Heat::Value\n    depends_on: web\n"
    "    properties:\n      value:\n        if:\n        - big\n        - get_param: size\n"
    "        - {str_replace: {template: size, params: {size: {get_resource: 'web'}}}}\n"
    "  third: {type: OS::Heat::Value, depends_on: [other, web]}\n"
    "outputs:\n"
    "  a: {value: {get_attr: [web, value]}, condition: big}\n"
    "  b: {value: {get_resource: web}}\n"
)


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def rename(desk, text, new, name="main.yaml"):
    """All open texts after a rename at the mark, by file name."""
    symbol = symbol_at(desk.context(text, name), desk.schemas)
    assert symbol is not None
    texts = {}
    found = renamed(symbol, new, desk.schemas)
    for one in sorted(found, key=lambda one: -one.start):
        path = one.document.path
        before = texts.get(path.name, one.document.text.source)
        texts[path.name] = before[: one.start] + new + before[one.end :]
    return texts


def count(desk, text):
    symbol = symbol_at(desk.context(text), desk.schemas)
    assert symbol is not None
    return len(list(occurrences(symbol, desk.schemas)))


@pytest.mark.parametrize(
    ("before", "after", "times"),
    [
        ("  si", "ze: {type: number}", 5),
        ("get_param: [si", "ze", 5),
        ("parameters: [si", "ze", 5),
        ("\n  we", "b:\n", 6),
        ("get_resource: 'we", "b'", 6),
        ("depends_on: we", "b", 6),
        ("\n  bi", "g:", 6),
        ("and: [bi", "g", 6),
        ("\n  oth", "er:", 3),
        ("\n  bo", "th:", 1),
    ],
)
def test_everything_that_is_named_is_found_from_anywhere(desk, before, after, times):
    assert BODY.count(before + after) == 1

    assert count(desk, BODY.replace(before + after, f"{before}|{after}")) == times


def test_a_parameter_gets_its_new_name_everywhere_and_nothing_else_does(desk):
    renamed = rename(desk, BODY.replace("[size, 0]", "[si|ze, 0]"), "width")["main.yaml"]

    assert renamed.count("width") == 5
    assert "default: size" in renamed
    assert "metadata: {size: web" in renamed
    assert "template: size, params: {size:" in renamed
    compile_template(renamed, files={}, environment=Environment(), catalog=desk.schemas.catalog)


def test_a_resource_gets_its_new_name_everywhere_and_nothing_else_does(desk):
    renamed = rename(desk, BODY.replace("get_attr: [web", "get_attr: [we|b"), "front")["main.yaml"]

    assert renamed.count("front") == 6
    assert "metadata: {size: web" in renamed
    compile_template(renamed, files={}, environment=Environment(), catalog=desk.schemas.catalog)


def test_a_condition_gets_its_new_name_everywhere_and_nothing_else_does(desk):
    renamed = rename(desk, BODY.replace("condition: big\n", "condition: bi|g\n"), "large")[
        "main.yaml"
    ]

    assert renamed.count("large") == 6
    assert "metadata: {size: web, big:" in renamed
    compile_template(renamed, files={}, environment=Environment(), catalog=desk.schemas.catalog)


def test_the_other_flavour(desk):
    body = CFN + (
        "Parameters:\n  p: {Type: String}\n  q: {Type: String}\n"
        "Conditions:\n  c: {'Fn::Equals': [{Ref: p}, x]}\n"
        "Mappings:\n  m: {k: {n: 1}}\n"
        "Resources:\n"
        "  a: {Type: 'OS::Heat::Value', Condition: c, Properties: {value: {Ref: p}}}\n"
        "  b: {Type: 'OS::Heat::Value', DependsOn: [a], Properties: {value: {Ref: a}}}\n"
        "Outputs:\n  o: {Value: {'Fn::GetAtt': [a, value]}, Condition: c}\n"
        "  f: {Value: {'Fn::If': [c, {'Fn::FindInMap': [m, k, n]}, {Ref: q}]}}\n"
    )
    for mark, times in [
        ("  p|: {", 3),
        ("  a|: {", 4),
        ("  c|: {", 4),
        ("  m|: {", 2),
        ("{Ref: a|}", 4),
    ]:
        assert count(desk, body.replace(mark.replace("|", ""), mark)) == times
    text = rename(desk, body.replace("{Ref: a}", "{Ref: |a}"), "first")["main.yaml"]
    assert text.count("first") == 4
    compile_template(text, files={}, environment=Environment(), catalog=desk.schemas.catalog)


CHILD = HOT + (
    "parameters:\n  size: {type: number}\n"
    "resources:\n  v: {type: OS::Heat::Value, properties: {value: {get_param: size}}}\n"
    "outputs:\n  address: {value: {get_attr: [v, value]}}\n"
)
PARENT = HOT + (
    "parameters:\n  size: {type: number}\n"
    "resources:\n"
    "  c: {type: child.yaml, properties: {size: {get_param: size}}}\n"
    "  d: {type: My::Child, properties: {size: 2}}\n"
    "  e: {type: OS::Cinder::Volume, properties: {size: 3}}\n"
    "  g:\n    type: OS::Heat::ResourceGroup\n    properties:\n      count: 2\n"
    "      resource_def: {type: child.yaml, properties: {size: 4}}\n"
    "outputs:\n  o: {value: {get_attr: [c, address]}}\n  p: {value: {get_attr: [e, address]}}\n"
)


def test_parents_follow_a_parameter_and_an_output_of_their_child(desk):
    (desk.folder / "parent.yaml").write_text(PARENT)
    (desk.folder / "env.yaml").write_text("resource_registry:\n  My::Child: child.yaml\n")

    texts = rename(
        desk, CHILD.replace("get_param: size", "get_param: si|ze"), "width", "child.yaml"
    )
    assert texts["child.yaml"].count("width") == 2
    assert "properties: {width: {get_param: size}}" in texts["parent.yaml"]
    assert "My::Child, properties: {width: 2}" in texts["parent.yaml"]
    assert "Volume, properties: {size: 3}" in texts["parent.yaml"]
    assert "{type: child.yaml, properties: {width: 4}}" in texts["parent.yaml"]
    texts = rename(desk, CHILD.replace("  address:", "  add|ress:"), "where", "child.yaml")
    assert texts["child.yaml"].count("where") == 1
    assert "[c, where]" in texts["parent.yaml"]
    assert "[e, address]" in texts["parent.yaml"]


def test_a_childs_parameter_can_be_renamed_from_the_parent(desk):
    desk.open(CHILD, "child.yaml")
    text = PARENT.replace("{size: {get", "{si|ze: {get")

    texts = rename(desk, text, "width")
    assert texts["child.yaml"].count("width") == 2
    assert "properties: {width: {get_param: size}}" in texts["main.yaml"]
    inside = PARENT.replace("{size: 4}", "{si|ze: 4}")
    assert rename(desk, inside, "width")["child.yaml"].count("width") == 2


def test_environments_that_fit_follow_a_parameter(desk):
    (desk.folder / "env.yaml").write_text("parameter_defaults: {}\nparameters: {size: 3}\n")
    (desk.folder / "not.yaml").write_text("parameter_defaults: {}\nparameters: {size: 3, x: 1}\n")

    texts = rename(desk, BODY.replace("[size, 0]", "[si|ze, 0]"), "width")
    assert texts["env.yaml"] == "parameter_defaults: {}\nparameters: {width: 3}\n"
    assert "not.yaml" not in texts


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("name", 'a parameter "name" already exists'),
        ("web", 'a resource "web" already exists'),
        ("OS::stack_name", "that every stack has"),
        ("", "must not be empty"),
        (" x", "begin or end with a space"),
        ("yes", "does not read it as text"),
        ("12", "does not read it as text"),
        ("a: b", "does not read it as text"),
        ("a, b", "does not read it as text"),
        ("[a]", "does not read it as text"),
        ("a # b", "does not read it as text"),
    ],
)
def test_names_that_can_not_be_are_refused_with_a_reason(desk, new, words):
    with pytest.raises(Refused, match=words):
        rename(desk, BODY.replace("[size, 0]", "[si|ze, 0]"), new)


def test_a_resource_takes_no_slash_and_no_name_of_a_parameter(desk):
    text = BODY.replace("get_resource: web", "get_resource: we|b")

    with pytest.raises(Refused, match="slash"):
        rename(desk, text, "a/b")
    with pytest.raises(Refused, match='a parameter "size" already exists'):
        rename(desk, text, "size")
    assert rename(desk, text, "web") == {}


def test_what_is_not_defined_can_not_be_renamed(desk):
    text = HOT + "outputs:\n  o: {value: {get_param: noth|ing}}\n"

    with pytest.raises(Refused, match="is not defined in main"):
        rename(desk, text, "some")


def test_a_name_is_found_in_a_text_that_is_broken_elsewhere(desk):
    broken = BODY.replace("depends_on: [other, web]}", "depends_on: [other, web")

    assert count(desk, broken.replace("get_resource: web", "get_resource: we|b")) == 6


@pytest.mark.parametrize(
    "text",
    [
        HOT + "resources:\n  a: {type: OS::Heat::V|alue}\n",
        HOT + "resources:\n  a: {ty|pe: OS::Heat::Value}\n",
        HOT + "des|cription: x\n",
        "a:\n  b: c|d\n",
    ],
)
def test_other_words_stand_for_nothing(desk, text):
    assert symbol_at(desk.context(text), desk.schemas) is None
