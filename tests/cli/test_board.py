"""Events as lines: nested ones in their place, times by the clock given."""

from hearth.cli.board import Board
from hearth.cli.demo.screen import tree_of

ROOT = "http://h/v1/p/stacks/shop/root-id"
TIER = "http://h/v1/p/stacks/shop-app-abc123/tier-id"


def event(number, stack, resource, status, physical_id=""):
    return {
        "id": f"e{number}",
        "resource_name": resource,
        "resource_status": status,
        "physical_resource_id": physical_id,
        "links": [{"rel": "self", "href": "x"}, {"rel": "stack", "href": stack}],
    }


def test_a_resource_is_timed_from_its_first_event_to_its_last():
    board = Board("shop")
    board.take([event(1, ROOT, "net", "CREATE_IN_PROGRESS")], 10.0)
    assert board.lines["net",].elapsed(12.0) == 2.0
    board.take([event(2, ROOT, "net", "CREATE_COMPLETE", "net-id")], 13.0)
    assert board.lines["net",].elapsed(99.0) == 3.0
    assert board.lines["net",].physical_id == "net-id"
    assert board.done() == (1, 1)
    assert board.marker == "e2"


def test_the_stack_itself_is_no_line_but_gives_the_status():
    board = Board("shop")
    assert board.take([event(1, ROOT, "shop", "CREATE_IN_PROGRESS", "root-id")], 0.0) == []
    assert board.status == "CREATE_IN_PROGRESS"
    nested = event(2, TIER, "shop-app-abc123", "CREATE_COMPLETE", "tier-id")
    assert board.take([nested], 0.0) == []
    assert board.status == "CREATE_IN_PROGRESS"


def test_nested_stacks_whose_first_events_are_not_shown_have_their_place():
    board = Board("shop")
    inner = "http://h/v1/p/stacks/shop-app-abc123-0-def456/inner-id"
    board.know({"shop-app-abc123-0-def456": ("app", "0")})
    (line,) = board.take([event(1, inner, "server", "DELETE_IN_PROGRESS")], 1.0)
    assert line.path == ("app", "0", "server")


def test_a_nested_resource_is_shown_under_the_resource_it_belongs_to():
    board = Board("shop")
    events = [
        event(1, ROOT, "app", "CREATE_IN_PROGRESS"),
        event(2, TIER, "server", "CREATE_IN_PROGRESS"),
        event(3, TIER, "server", "CREATE_FAILED"),
    ]
    changed = board.take(events, 1.0)
    assert [(line.path, line.status) for line in changed] == [
        (("app",), "CREATE_IN_PROGRESS"),
        (("app", "server"), "CREATE_IN_PROGRESS"),
        (("app", "server"), "CREATE_FAILED"),
    ]
    tree = tree_of(board, "Creating", 2.0)
    (app,) = tree.children
    (server,) = app.children
    assert "app" in str(app.label)
    assert "✘ server" in str(server.label)


def test_another_action_begins_with_an_empty_board():
    board = Board("shop")
    board.take([event(1, ROOT, "net", "CREATE_COMPLETE")], 1.0)
    board.fresh()
    assert board.lines == {}
    assert board.marker == "e1"


def test_the_parent_of_a_nested_stack_is_the_longest_known_name():
    board = Board("shop")
    tier, part = ROOT.replace("shop", "shop-a-b-x1"), ROOT.replace("shop", "shop-a-b-x1-c-d-x2")
    lines = board.take(
        [event(1, tier, "one", "CREATE_COMPLETE"), event(2, part, "two", "CREATE_COMPLETE")], 1.0
    )
    assert [line.path for line in lines] == [("a-b", "one"), ("a-b", "c-d", "two")]
