"""Resources, the agenda, ids."""

from __future__ import annotations

from pathlib import Path

from hearth_devcloud import tables
from hearth_devcloud.store import Resource, Store


def resource(number: int, table: str = "box.boxes", **body: object) -> Resource:
    return Resource(str(number), table, "p", {"name": f"n{number}", **body})


def test_what_is_due_happens_in_order_and_at_its_own_time() -> None:
    store = Store()
    one = store.insert(resource(1))
    seen: list[tuple[str, float]] = []
    begun = store.time
    store.later(5, one, "second")
    store.later(1, one, "first")
    store.settle(begun + 0.5, lambda name, _: seen.append((name, store.time)))
    assert seen == []
    store.settle(begun + 9, lambda name, _: seen.append((name, store.time)))
    assert seen == [("first", begun + 1), ("second", begun + 5)]


def test_nothing_happens_to_what_is_gone() -> None:
    store = Store()
    one = store.insert(resource(1))
    store.later(0, one, "late")
    store.remove(one)
    seen: list[str] = []
    store.settle(store.time + 1, lambda name, _: seen.append(name))
    assert seen == []


def test_the_same_seed_gives_the_same_ids() -> None:
    assert [Store(7).new_id() for _ in range(2)] == [Store(7).new_id() for _ in range(2)]
    assert Store(7).new_id() != Store(8).new_id()


def test_looking_by_an_indexed_field_finds_what_is_there_and_not_what_is_gone() -> None:
    store = Store()
    here = store.insert(resource(1, "network.ports", network_id="a"))
    gone = store.insert(resource(2, "network.ports", network_id="a"))
    store.insert(resource(3, "network.ports", network_id="b"))
    store.remove(gone)
    assert store.where("network.ports", network_id="a") == [here]


def test_a_resource_is_not_seen_before_its_time() -> None:
    store = Store()
    one = store.insert(resource(1))
    one.visible_from = store.time + 5
    assert store.get("box.boxes", "1") is None
    assert list(store.all("box.boxes")) == []
    store.time += 6
    assert store.get("box.boxes", "1") is one


def test_the_ledger_keeps_what_is_gone() -> None:
    store = Store()
    store.ledger.next_call()
    one = store.insert(resource(1))
    store.ledger.next_call()
    store.remove(one)
    entry = store.ledger.entries[0]
    assert (entry.name, entry.created, entry.deleted) == ("n1", 1, 2)


def test_an_indexed_field_may_change_and_all_of_a_project_are_counted() -> None:
    store = Store()
    one = store.insert(resource(1, "network.floatingips", port_id="a", project_id="p"))
    store.change(one, port_id="b")
    assert store.where("network.floatingips", port_id="a") == []
    assert store.where("network.floatingips", port_id="b") == [one]
    assert store.count("network.floatingips", "p") == 1
    store.remove(one)
    assert store.count("network.floatingips", "p") == 0


def test_a_table_that_services_share_has_one_name() -> None:
    names = {value for name, value in vars(tables).items() if name.isupper()}
    assert "network.ports" in names
    root = Path(tables.__file__).parent
    texts = {path: path.read_text() for path in root.rglob("*.py") if path.stem != "tables"}
    literal = [
        f"{path.relative_to(root)}: {name}"
        for path, text in texts.items()
        for name in sorted(names)
        if f'"{name}"' in text
    ]
    assert literal == []
