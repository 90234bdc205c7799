"""Pages of clusters and objects by name, on every kind of database."""

import itertools
import random

import pytest

from hearth.clusters.objects import Cluster, ClusterTemplate, NodeGroup, Quota
from hearth.store.clusters import find, quotas, rows
from hearth.store.clusters.find import by_ident, in_project, usable_templates
from hearth.store.clusters.pages import NoMarker, Page, page, sort_keys
from hearth.store.database import Store, Tx

KEYS = ("id", "flavor_id", "name", "docker_volume_size", "created_at", "status")
UUID = "00000000-0000-4000-8000-{:012}".format


def one(number: int, **more: object) -> Cluster:
    values: dict[str, object] = {
        "uuid": UUID(number), "name": f"c{number % 3}", "project_id": "p", "user_id": "u",
        "cluster_template_id": UUID(0), "flavor_id": [None, "b", "A", "a"][number % 4],
        "docker_volume_size": [7, None, 5][number % 3], "created_at": float(number % 2),
    }  # fmt: skip
    return Cluster(**{**values, **more})  # type: ignore[arg-type]


def fill(tx: Tx) -> None:
    for number in range(12):
        rows.insert(tx, one(number), version=0)
    rows.insert(tx, one(12, project_id="q"), version=0)


def test_pages_together_are_all_rows_once_in_order(store: Store):
    store.transact(fill)
    for key, limit, descending in itertools.product(KEYS, (1, 5, 12), (False, True)):
        check_pages(store, key, limit, descending=descending)


def check_pages(store: Store, key: str, limit: int, *, descending: bool) -> None:
    mine = in_project(Cluster, "p")
    found: list[Cluster] = []
    marker = None
    while len(found) < 100:
        wanted = Page(limit, marker, key, descending)
        some = store.transact(lambda tx, wanted=wanted: page(tx, Cluster, wanted, *mine))
        found += some
        if len(some) < limit:
            break
        marker = some[-1].uuid
    assert sorted(cluster.id for cluster in found) == sorted({cluster.id for cluster in found})
    assert len(found) == 12
    in_order = [(getattr(c, key) is not None, getattr(c, key) or "", c.id) for c in found]
    if key in ("docker_volume_size", "created_at", "id"):
        in_order = [(there, value or 0.0, number) for there, value, number in in_order]  # type: ignore[misc]
    if key != "flavor_id":  # databases differ in the order of letters
        assert in_order == sorted(in_order, reverse=descending)
    same = [number for _, value, number in in_order if value == in_order[0][1]]
    assert same == sorted(same, reverse=descending)


def test_a_marker_must_be_visible(store: Store):
    store.transact(fill)
    for marker in (UUID(12), UUID(99), "x"):
        with pytest.raises(NoMarker):
            store.transact(
                lambda tx, m=marker: page(tx, Cluster, Page(5, m), *in_project(Cluster, "p"))
            )


def test_rows_that_change_between_pages_neither_repeat_nor_hide_others(store: Store):
    store.transact(fill)
    there = {cluster.id for cluster in store.transact(lambda tx: page(tx, Cluster, Page(100)))}
    luck = random.Random(7)
    seen: list[int] = []
    marker = None
    while True:
        some = store.transact(lambda tx, m=marker: page(tx, Cluster, Page(3, m)))
        seen += [cluster.id for cluster in some]
        if len(some) < 3:
            break
        marker = some[-1].uuid
        new = one(100 + len(seen) + luck.randrange(3) * 1000)
        store.transact(lambda tx, new=new: rows.insert(tx, new, version=0))
    assert seen == sorted(set(seen))
    assert len(there) == 13
    assert there <= set(seen)


def test_a_uuid_counts_before_a_name(store: Store):
    def transaction(tx: Tx) -> None:
        rows.insert(tx, one(1, name="first"), version=0)
        rows.insert(tx, one(2, name=UUID(1)), version=0)
        for number in (3, 4, 5):
            rows.insert(tx, one(number, name="same"), version=0)

    store.transact(transaction)
    assert [c.name for c in store.transact(lambda tx: by_ident(tx, Cluster, UUID(1)))] == ["first"]
    assert len(store.transact(lambda tx: by_ident(tx, Cluster, "same"))) == 2
    for ident in ("SAME", "sam", "", "x" * 300, "%"):
        assert store.transact(lambda tx, i=ident: by_ident(tx, Cluster, i)) == []


def test_templates_of_others_are_usable_if_public_and_not_hidden(store: Store):
    def transaction(tx: Tx) -> None:
        for number, (public, hidden) in enumerate(
            [(False, False), (True, False), (True, True), (False, True)]
        ):
            template = ClusterTemplate(
                uuid=UUID(number), name=f"t{number}", project_id="q", user_id="u",
                coe="kubernetes", image_id="i", public=public, hidden=hidden,
            )  # fmt: skip
            rows.insert(tx, template)

    store.transact(transaction)

    def names(project: str | None) -> list[str]:
        visible = usable_templates(project)
        found = store.transact(lambda tx: page(tx, ClusterTemplate, Page(9), *visible))
        return [template.name for template in found]

    assert names("p") == ["t1"]
    assert names("q") == names(None) == ["t0", "t1", "t2", "t3"]


def test_usage_and_quotas_are_those_of_a_project(store: Store):
    def transaction(tx: Tx) -> None:
        for project, clusters in (("p", 2), ("q", 1)):
            for number in range(clusters):
                cluster = one(number + 10 * clusters, project_id=project)
                rows.insert(tx, cluster, version=0)
                group = NodeGroup(
                    uuid=cluster.uuid, name="g", cluster_id=cluster.uuid, project_id=project,
                    node_count=3,
                )  # fmt: skip
                rows.insert(tx, group)
        rows.insert(tx, Quota(project_id="p", hard_limit=9))

    assert store.transact(lambda tx: quotas.usage(tx, None)) == (0, 0)
    store.transact(transaction)
    assert store.transact(lambda tx: quotas.usage(tx, "p")) == (2, 6)
    assert store.transact(lambda tx: quotas.usage(tx, None)) == (3, 9)
    found = store.transact(lambda tx: quotas.find(tx, "p", "Cluster"))
    assert found is not None
    assert found.hard_limit == 9
    assert store.transact(lambda tx: quotas.find(tx, "q", "Cluster")) is None
    assert store.transact(lambda tx: find.in_use(tx, UUID(0)))
    assert not store.transact(lambda tx: find.in_use(tx, UUID(1)))


def test_nobody_can_sort_by_internal_columns():
    for kind in (Cluster, ClusterTemplate, NodeGroup, Quota):
        assert {"id", "created_at"} <= set(sort_keys(kind))
        hidden = {"body", "version", "identity_id", "ca_cert_ref", "seen"}
        assert not hidden & set(sort_keys(kind))


def test_a_held_template_exists_until_the_transaction_ends(store: Store):
    template = ClusterTemplate(
        uuid=UUID(0), name="t", project_id="p", user_id="u", coe="kubernetes", image_id="i"
    )
    assert not store.transact(lambda tx: find.hold_template(tx, UUID(0)))
    store.transact(lambda tx: rows.insert(tx, template))

    def transaction(tx: Tx) -> int:
        assert find.hold_template(tx, UUID(0))
        return rows.insert(tx, one(1), version=0).id

    assert store.transact(transaction) > 0


def test_sizes_are_sums_by_role(store: Store):
    def transaction(tx: Tx) -> None:
        for number, (cluster, role, count) in enumerate(
            [(1, "master", 3), (1, "worker", 5), (1, "gpu", 2), (2, "worker", 0)]
        ):
            group = NodeGroup(
                uuid=UUID(number), name=f"g{number}", cluster_id=UUID(cluster), project_id="p",
                role=role, node_count=count,
            )  # fmt: skip
            rows.insert(tx, group)

    store.transact(transaction)
    found = store.transact(lambda tx: quotas.sizes(tx, [UUID(n) for n in (1, 2, 3)]))
    assert found == {UUID(1): (7, 3), UUID(2): (0, 0), UUID(3): (0, 0)}
    assert store.transact(lambda tx: quotas.sizes(tx, [])) == {}
