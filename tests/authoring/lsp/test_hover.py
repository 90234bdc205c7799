import pytest

from hearth.authoring.lsp.hover import hover
from tests.authoring.lsp.desk import CFN, HOT, Desk

BODY = HOT + (
    "parameters:\n"
    "  size:\n    type: number\n    label: Size\n    description: Of the disk\n    default: 10\n"
    "    constraints:\n      - range: {min: 1, max: 20}\n"
    "  secret: {type: string, hidden: true, default: sesame}\n"
    "conditions:\n  big: {equals: [{get_param: size}, 20]}\n"
    "resources:\n"
    "  web:\n    type: OS::Nova::Server\n    description: The front\n    properties:\n"
    "      flavor: m1.small\n      user_data_format: RAW\n"
    "      networks:\n        - network: x\n"
    "  c: {type: child.yaml, properties: {count: 1}}\n"
    "  bad: {type: OS::Nope::Nope}\n"
    "outputs:\n"
    "  o:\n    value: {get_attr: [web, addresses]}\n    condition: big\n"
    "  p: {value: {list_join: ['', [{get_param: size}, {get_param: secret}]]}}\n"
    "  q: {value: {get_attr: [c, address]}}\n"
    "  r: {value: {get_param: 'OS::stack_name'}}\n"
    "  s: {value: {get_file: notes.txt}}\n"
)
CHILD = HOT + (
    "parameters:\n  count: {type: number, description: How many}\n"
    "outputs:\n  address: {value: 1, description: Where it is}\n"
)


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "child.yaml").write_text(CHILD)
    return Desk(tmp_path)


def hovered(desk, before, after="", *, body=BODY):
    """What is said with the mouse between two pieces of the text."""
    assert body.count(before + after) == 1, before + after
    text = body.replace(before + after, f"{before}|{after}")
    return hover(desk.context(text), desk.schemas)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("type: OS::Nova::S", "erver", ["OS::Nova::Server", "virtual machine", "`flavor`"]),
        ("fla", "vor:", ["flavor", "string, required", "A change"]),
        ("user_data_f", "ormat:", ["HEAT_CFNTOOLS", "one of", "replaces", "Default"]),
        ("- net", "work: x", ["network", "string"]),
        ("[web, addr", "esses]", ["addresses", "map"]),
        ("[{get_param: si", "ze}, 20", ["size", "number", "Of the disk", "`10`", "from 1 to 20"]),
        ("  si", "ze:\n", ["size", "number"]),
        ("get_param: se", "cret}", ["hidden", "stars"]),
        ("[{get_par", "am: size}, 20", ["get_param", "The value of a parameter"]),
        ("list_j", "oin", ["delimiter"]),
        ("get_attr: [we", "b,", ["web", "OS::Nova::Server", "The front"]),
        ("condition: bi", "g", ["equals", "20"]),
        ("child.y", "aml,", ["child.yaml", "Nested template", "`count`"]),
        ("{cou", "nt: 1}", ["count", "number, required", "How many", "updates"]),
        ("[c, add", "ress]", ["address", "Where it is"]),
        ("OS::stack_na", "me", ["The name of the stack."]),
        ("notes.t", "xt", ["There is no file"]),
        ("resour", "ces:", ["The resources of the stack."]),
        ("descrip", "tion: The front", ["What the resource is for."]),
        ("ran", "ge:", ["Bounds of a number"]),
        ("m", "ax:", ["The maximum."]),
        ("    condi", "tion: big", ["unless this condition is true"]),
        ("  bi", "g: {equals", ["big: {equals"]),
    ],
)
def test_what_is_said_of_a_word(desk, before, after, words):
    said = hovered(desk, before, after)

    assert said is not None
    for word in words:
        assert word in said


def test_a_hidden_default_is_not_shown(desk):
    assert "sesame" not in (hovered(desk, "get_param: se", "cret}") or "")


@pytest.mark.parametrize(
    ("before", "after"),
    [("OS::Nope::N", "ope"), ("m1.sm", "all"), ("Of the d", "isk"), ("user_data_format: R", "AW")],
)
def test_nothing_is_said_of_other_words(desk, before, after):
    assert hovered(desk, before, after) is None


def test_a_file_that_is_there_is_named_with_its_path(desk):
    (desk.folder / "notes.txt").write_text("x")

    assert str(desk.folder / "notes.txt") in (hovered(desk, "notes.t", "xt") or "")


def test_nothing_is_said_of_other_yaml(desk):
    assert hovered(desk, "resour", "ces:", body="a: 1\nresources:\n  x: 1\n") is None


def test_the_other_flavour(desk):
    body = CFN + (
        "Parameters:\n  p: {Type: String, Description: What for}\n"
        "Resources:\n  a:\n    Type: OS::Heat::Value\n    Properties: {value: {Ref: p}}\n"
        "Outputs:\n  o: {Value: {'Fn::GetAtt': [a, value]}}\n"
        "  r: {Value: {Ref: a}}\n"
    )

    assert "What for" in (hovered(desk, "{Ref: ", "p}", body=body) or "")
    assert "OS::Heat::Value" in (hovered(desk, "{Ref: ", "a}", body=body) or "")
    assert "An attribute of a resource." in (hovered(desk, "Fn::Get", "Att", body=body) or "")
    assert hovered(desk, "[a, val", "ue]", body=body)


def test_a_literal_description_is_shown_as_text(desk):
    body = HOT + (
        "parameters:\n  p:\n    type: string\n    description: >\n      One\n      two\n"
        "outputs:\n  o: {value: {get_param: p}}\n"
    )

    assert "One\ntwo" in (hovered(desk, "get_param: ", "p}", body=body) or "")
