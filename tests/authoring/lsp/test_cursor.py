import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.authoring.lsp.cursor import CURSOR, completion_context, context_at
from hearth.authoring.lsp.document import Genre
from hearth.authoring.lsp.locations import What
from tests.authoring.lsp.desk import CFN, HOT, document, split


def cursor(text):
    """What is expected at the mark, in a few words."""
    source, offset = split(text)
    context = completion_context(document(source), offset)
    if context is None:
        return None
    location = context.location
    words = [location.what.name]
    if location.name:
        words.append(location.name)
    if location.steps is not None:
        words.append(".".join([location.root, *map(str, location.steps)]))
    if context.is_key:
        words.append("KEY")
    typed = context.scalar.text.replace(CURSOR, "|")
    return f"{' '.join(words)} {typed}"


WEB = "resources:\n  web:\n"
PROPERTIES = WEB + "    type: A\n    properties:\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # sections
        ("|", "ROOT |"),
        ("res|", "ROOT res|"),
        ("res|\noutputs:\n", "ROOT res|"),
        ("resources:\n  a:\n    type: A\n|\noutputs:\n  x:\n    value: 1\n", "ROOT |"),
        ("resou|rces:\n  a:\n    type: A\n", "ROOT KEY resou|rces"),
        # parameters
        ("parameters:\n  a|\n", "PARAMETERS a|"),
        ("parameters:\n  a:\n    |\n", "PARAMETER a |"),
        ("parameters:\n  a:\n    type: string\n    def|\n", "PARAMETER a KEY def|"),
        ("parameters:\n  a:\n    type: |\n", "PARAMETER_TYPE a |"),
        ("parameters:\n  a: {type: nu|}\n", "PARAMETER_TYPE a nu|"),
        ("parameters:\n  a: {|}\n", "PARAMETER a KEY |"),
        ("parameters:\n  a:\n    hidden: |\n", "FLAG a |"),
        ("parameters:\n  a:\n    constraints:\n      - |\n", "CONSTRAINT a |"),
        ("parameters:\n  a:\n    constraints:\n      - ra|: {}\n", "CONSTRAINT a KEY ra|"),
        ("parameters:\n  a:\n    constraints:\n      - range: {m|}\n", "BOUNDS range KEY m|"),
        (
            "parameters:\n  a:\n    constraints:\n    - custom_constraint: n|\n",
            "BOUNDS custom_constraint n|",
        ),
        ("parameter_groups:\n- |\n", "GROUP |"),
        ("parameter_groups:\n- label: x\n  parameters:\n  - |\n", "PARAMETER_NAME |"),
        ("parameter_groups:\n- parameters: [a, |]\n", "PARAMETER_NAME |"),
        # resources
        ("resources:\n  |\n", "RESOURCES |"),
        (WEB + "    |\n", "RESOURCE web |"),
        (WEB + "    type: A\n    |\n  db:\n    type: B\n", "RESOURCE web KEY |"),
        (WEB + "    |\n    type: A\n", "RESOURCE web KEY |"),
        (WEB + "    ty|\n    properties:\n      a: 1\n", "RESOURCE web KEY ty|"),
        (WEB + "    type: |\n", "TYPE web |"),
        (WEB + "    type: OS::No|\n    properties:\n      a: 1\n", "TYPE web OS::No|"),
        (WEB + "    type: 'OS::|'\n", "TYPE web OS::|"),
        (WEB + '    type: "OS::|\n    properties:\n', "TYPE web OS::|"),
        (WEB + "    depends_on: |\n", "RESOURCE_NAME |"),
        (WEB + "    depends_on: [a, |]\n", "RESOURCE_NAME |"),
        (WEB + "    depends_on:\n      - a\n      - |\n", "RESOURCE_NAME |"),
        (WEB + "    depends_on:\n    - |\n", "RESOURCE_NAME |"),
        (WEB + "    deletion_policy: |\n", "POLICY |"),
        (WEB + "    condition: |\n", "OPERAND |"),
        (WEB + "    metadata: {a: {get_param: |}}\n", "PARAMETER_NAME |"),
        (WEB + "    update_policy: {|}\n", "VALUE web update_policy KEY |"),
        # properties
        (PROPERTIES + "      |\n", "VALUE web properties |"),
        (PROPERTIES + "      fla|\n", "VALUE web properties fla|"),
        (PROPERTIES + "      a: 1\n      fla|\n", "VALUE web properties KEY fla|"),
        (PROPERTIES + "      a: 1\n      |\n\n  db:\n    type: B\n", "VALUE web properties KEY |"),
        (PROPERTIES + "      |\n      a: 1\n", "VALUE web properties KEY |"),
        (PROPERTIES + "      a: |\n", "VALUE web properties.a |"),
        (PROPERTIES + "      a: 1\n    |\n", "RESOURCE web KEY |"),
        (PROPERTIES + "      a: 1\n  |\n", "RESOURCES |"),
        (PROPERTIES + "      nets:\n        - |\n", "VALUE web properties.nets.0 |"),
        (
            PROPERTIES + "      nets:\n        - a: 1\n          |\n",
            "VALUE web properties.nets.0 KEY |",
        ),
        (
            PROPERTIES + "      nets:\n        - a: 1\n        - b: |\n",
            "VALUE web properties.nets.1.b |",
        ),
        (PROPERTIES + "      nets: [{a: 1}, {|}]\n", "VALUE web properties.nets.1 KEY |"),
        (PROPERTIES + "      nets: [{a: 1, b|\n      c: 1\n", "VALUE web properties.nets.0 KEY b|"),
        (WEB + "    type: A\n    properties: {a: {b: |}}\n", "VALUE web properties.a.b |"),
        ("resources: {web: {type: A, properties: {a: |}}}\n", "VALUE web properties.a |"),
        # functions
        (PROPERTIES + "      a: {|}\n", "VALUE web properties.a KEY |"),
        (PROPERTIES + "      a: {get_|}\n", "VALUE web properties.a KEY get_|"),
        (PROPERTIES + "      a: {get_param: |}\n", "PARAMETER_NAME |"),
        (PROPERTIES + "      a: {get_param: |\n      b: 2\n", "PARAMETER_NAME |"),
        (PROPERTIES + "      a: {get_param: [|]}\n", "PARAMETER_NAME |"),
        (PROPERTIES + "      a: {get_param: [x, |]}\n", "VALUE |"),
        (PROPERTIES + "      a:\n        get_param: |\n", "PARAMETER_NAME |"),
        (
            PROPERTIES + "      a:\n        get_attr:\n          - b\n          - |\n",
            "ATTRIBUTE b |",
        ),
        (PROPERTIES + "      a: {get_attr: [|]}\n", "RESOURCE_NAME |"),
        (PROPERTIES + "      a: {get_attr: [b, |]}\n", "ATTRIBUTE b |"),
        (PROPERTIES + "      a: {get_attr: [b, |\n      c: 1\n", "ATTRIBUTE b |"),
        (PROPERTIES + "      a: {get_resource: |}\n", "RESOURCE_NAME |"),
        (PROPERTIES + "      a: {get_resource: '|'}\n", "RESOURCE_NAME |"),
        (PROPERTIES + "      a: {get_file: |}\n", "FILE |"),
        (PROPERTIES + "      a: {str_replace: {|}}\n", "ARGUMENT str_replace KEY |"),
        (
            PROPERTIES + "      a:\n        str_replace:\n          template: x\n"
            "          params:\n            y: {get_param: |}\n",
            "PARAMETER_NAME |",
        ),
        (PROPERTIES + "      a: {if: [|, 1, 2]}\n", "OPERAND |"),
        (PROPERTIES + "      a: {if: [x, {b: |}, 2]}\n", "VALUE web properties.a.b |"),
        (PROPERTIES + "      a: {repeat: {template: {b: |}}}\n", "VALUE web properties.a.0.b |"),
        (PROPERTIES + "      a: {list_concat: [[{b: |}]]}\n", "VALUE web properties.a.0.b |"),
        (PROPERTIES + "      a: {digest: [|]}\n", "ALGORITHM |"),
        (PROPERTIES + "      a: {get_param: x, b: |}\n", "VALUE web properties.a.b |"),
        # conditions and outputs
        ("conditions:\n  c: {|}\n", "CONDITION c KEY |"),
        ("conditions:\n  c: {equals: [{get_param: |}, 1]}\n", "PARAMETER_NAME |"),
        ("conditions:\n  c: {and: [a, |]}\n", "OPERAND |"),
        ("conditions:\n  c: {not: |}\n", "OPERAND |"),
        ("outputs:\n  o:\n    |\n", "OUTPUT o |"),
        ("outputs:\n  o:\n    value: {get_attr: [a, |]}\n", "ATTRIBUTE a |"),
        ("outputs:\n  o:\n    condition: |\n", "OPERAND |"),
        # where nothing is to be told
        (WEB + "    # com|ment\n    type: A\n", None),
        (WEB + "    type: A # com|ment\n", None),
        (WEB + "    description: so|me\n", "NOTHING so|me"),
        ("description: so|me\n", "NOTHING so|me"),
        ("what:\n  ever: |\n", "NOTHING |"),
    ],
)
def test_the_place_of_the_cursor_is_known_in_text_that_is_being_typed(text, expected):
    assert cursor(HOT + text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Resources:\n  a:\n    |\n", "RESOURCE a |"),
        ("Resources:\n  a:\n    Type: |\n", "TYPE a |"),
        ("Resources:\n  a:\n    DependsOn: |\n", "RESOURCE_NAME |"),
        ("Resources:\n  a:\n    Properties: {x: {Ref: |}}\n", "REF |"),
        ("Resources:\n  a:\n    Properties: {x: {'Fn::GetAtt': [b, |]}}\n", "ATTRIBUTE b |"),
        ("Outputs:\n  o:\n    Value: {'Fn::FindInMap': [|]}\n", "MAPPING_NAME |"),
        ("Outputs:\n  o:\n    Value: {'Fn::FindInMap': [m, |]}\n", "MAPPING_KEY m |"),
        ("Outputs:\n  o:\n    Value: {'Fn::If': [|]}\n", "OPERAND |"),
        ("Conditions:\n  c: {'Fn::Not': [|]}\n", "OPERAND |"),
        ("Conditions:\n  c: {'Fn::Equals': [{Ref: |}]}\n", "REF |"),
        ("Parameters:\n  p: {|}\n", "PARAMETER p KEY |"),
        ("Parameters:\n  p: {Type: |}\n", "PARAMETER_TYPE p |"),
        ("resources:\n  a:\n    |\n", "NOTHING |"),
    ],
)
def test_the_other_flavour_has_its_own_words(text, expected):
    assert cursor(CFN + text) == expected


JSON = """{
  "AWSTemplateFormatVersion": "2010-09-09",
  "Resources": {
    "a": {
      "Type": "A",
      %s
      "Properties": {
        "x": %s
      }
    },
    "b": {
      "Type": "B"
    }
  }
}
"""


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ('"|"', "1", "RESOURCE a KEY |"),
        ('"DependsOn": "|",', "1", "RESOURCE_NAME |"),
        ("", '{"Ref": "|"}', "REF |"),
        ("", '{"Ref": "|}', "REF |"),
        ("", '{"Fn::GetAtt": ["b", "|"]}', "ATTRIBUTE b |"),
        ("", '{"Fn::GetAtt": ["b", |', "ATTRIBUTE b |"),
        ("", "|", "VALUE a properties.x |"),
    ],
)
def test_json_is_read_alike(one, two, expected):
    assert cursor(JSON % (one, two)) == expected
    flat = " ".join((JSON % (one, two)).split())
    if not one and two.count('"') % 2 == 0 and "}" in two:
        assert cursor(flat) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("|", "ENVIRONMENT |"),
        ("parameters:\n  |\n", "ENV_PARAMETERS parameters |"),
        ("resource_registry:\n  |\n", "REGISTRY |"),
        ("resource_registry:\n  A: |\n", "REGISTRY_TARGET A |"),
        ("resource_registry:\n  resources:\n    |\n", "REGISTRY_RESOURCES |"),
        ("resource_registry:\n  resources:\n    web:\n      hooks: |\n", "HOOK |"),
        ("resource_registry:\n  resources:\n    web:\n      A::B: |\n", "REGISTRY_TARGET A::B |"),
        (
            "resource_registry:\n  resources:\n    web:\n      restricted_actions: [|]\n",
            "RESTRICTED_ACTION |",
        ),
        ("parameter_merge_strategies:\n  a: |\n", "STRATEGY a |"),
    ],
)
def test_environments_have_places_too(text, expected):
    assert cursor("parameter_defaults: {}\n" + text) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_do_not_matter(end):
    text = (HOT + PROPERTIES + "      a: |\n      b: 1\n").replace("\n", end)

    assert cursor(text) == "VALUE web properties.a |"


@pytest.mark.parametrize(
    ("text", "genre"),
    [
        (HOT, Genre.TEMPLATE),
        (CFN, Genre.TEMPLATE),
        ("HeatTemplateFormatVersion: '2012-12-12'\n", Genre.TEMPLATE),
        ('{"AWSTemplateFormatVersion": "2010-09-09"}', Genre.TEMPLATE),
        ("heat_template_version:\n", Genre.TEMPLATE),
        ("heat_template_version\n", Genre.NOTHING),
        ("resource_registry:\n", Genre.ENVIRONMENT),
        ("parameter_defaults: {a: 1}\n", Genre.ENVIRONMENT),
        ("parameters:\n  a: 1\n", Genre.NOTHING),
        ("services:\n  web:\n    image: x\n", Genre.NOTHING),
        ("- heat_template_version: x\n", Genre.NOTHING),
        ("a:\n  heat_template_version: x\n", Genre.NOTHING),
        ("", Genre.NOTHING),
    ],
)
def test_only_templates_and_environments_are_taken_for_them(text, genre):
    assert document(text).genre is genre


def test_a_version_that_is_not_there_counts_as_the_newest():
    assert document("heat_template_version: 2018").grammar.value == "2021-04-16"
    assert document("heat_template_version: queens").grammar.value == "2018-03-02"
    assert document("AWSTemplateFormatVersion:").grammar.value == "2010-09-09"


def test_keys_of_sections_and_entries_have_places():
    source, offset = split(HOT + "reso|urces:\n  web:\n    type: A\n")
    context = context_at(document(source), offset)
    assert context is not None
    assert (context.location.what, context.scalar.text) == (What.ROOT, "resources")

    source, offset = split(HOT + "resources:\n  we|b:\n    type: A\n")
    context = context_at(document(source), offset)
    assert context is not None
    assert (context.location.what, context.scalar.text) == (What.RESOURCES, "web")
    assert source[context.start : context.end] == "web"


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab:-[]{},'\" \n#", max_size=40), st.integers(0, 40))
def test_no_text_makes_it_fail(tail, at):
    source = HOT + "resources:\n  a:\n    type: A\n" + tail
    offset = max(0, len(source) - at)

    completion_context(document(source), offset)
    context = context_at(document(source), offset)
    if context is not None:
        assert context.start <= offset <= context.end
