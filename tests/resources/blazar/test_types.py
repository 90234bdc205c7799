"""What is particular to hosts and leases of the reservation service."""

import pytest

from hearth.cloud import CloudFault
from hearth.resources.blazar.host import as_map
from hearth.resources.blazar.lease import reservation
from hearth.resources.registry import builtin_types
from hearth.resources.shown import known_attributes
from tests.resources.driver import drive

HOST, LEASE = "OS::Blazar::Host", "OS::Blazar::Lease"
WHOLE = {"resource_type": "physical:host", "min": 1, "max": 1}
COURSE = {
    "name": "course",
    "start_date": "2099-03-01 08:00",
    "end_date": "2099-03-05 18:00",
    "reservations": [WHOLE],
}


def withhold(path):
    """The call is carried out; its answer never comes."""
    match = {"method": "POST", "path_regex": path, "times": 1}
    return {"match": match, "effect": {"withhold": 0.05}}


def test_what_was_made_without_an_answer_is_found_and_not_made_twice():
    async def story(driver):
        driver.knobs(withhold("os-hosts$"), withhold("leases$"))
        host = await driver.create(HOST, {"name": "reservable-1"}, "host")
        lease = await driver.create(LEASE, COURSE)
        left = driver.left()
        orphans = [*await host.kind.orphans(host), *await lease.kind.orphans(lease)]
        await driver.delete_all()
        return left, orphans, driver.left()

    assert drive(story, user="admin") == (
        {"reservation.hosts": 1, "reservation.leases": 1},
        [],
        {},
    )


def test_a_name_that_somebody_has_is_refused_and_theirs_stays():
    async def story(driver):
        await driver.create(HOST, {"name": "reservable-1"}, "host")
        await driver.create(HOST, {"name": "reservable-2"}, "host2")
        await driver.create(LEASE, COURSE)
        for rtype, given in ((LEASE, COURSE), (HOST, {"name": "reservable-1"})):
            with pytest.raises(CloudFault, match="already"):
                await driver.create(rtype, given)
            await driver.delete(driver.made[-1])
        left = driver.left()
        await driver.delete_all()
        return left

    assert drive(story, user="admin") == {"reservation.hosts": 2, "reservation.leases": 1}


def test_a_lease_with_other_dates_is_not_taken_for_the_own_one():
    async def story(driver):
        await driver.create(HOST, {"name": "reservable-1"}, "host")
        lease = await driver.create(LEASE, COURSE)
        found = await lease.kind.find(lease)
        lease.properties = {**lease.properties, "end_date": "2099-03-06 18:00"}
        other = await lease.kind.find(lease)
        await driver.delete_all()
        return found.physical_id == lease.physical_id, other

    assert drive(story, user="admin") == (True, None)


def test_a_lease_that_is_replaced_gives_its_name_away_and_takes_it_back():
    async def story(driver):
        await driver.create(HOST, {"name": "reservable-1"}, "host")
        await driver.create(HOST, {"name": "reservable-2"}, "host2")
        old = await driver.create(LEASE, COURSE)
        for step in old.kind.replaced_steps(old):
            await step.do(old)
        new = await driver.create(LEASE, COURSE)
        orphans = await old.kind.orphans(old)
        await driver.delete(new)
        for step in old.kind.taken_back_steps(old):
            await step.do(old)
        body = await old.kind.show(old)
        await driver.delete_all()
        return orphans, body["name"], driver.left()

    assert drive(story, user="admin") == ((), "course", {})


def test_a_lease_that_is_gone_has_no_name_to_give_away():
    async def story(driver):
        await driver.create(HOST, {"name": "reservable-1"}, "host")
        lease = await driver.create(LEASE, COURSE)
        await driver.cloud.request("reservation", "DELETE", f"/leases/{lease.physical_id}")
        (step,) = lease.kind.replaced_steps(lease)
        await step.do(lease)
        await driver.delete_all()
        return driver.left()

    assert drive(story, user="admin") == {}


def test_the_capabilities_of_a_host_are_a_map():
    async def story(driver):
        given = {"name": "reservable-1", "extra_capability": {"gpu": "yes", "name": "other"}}
        host = await driver.create(HOST, given)
        found = [await host.kind.attribute(host, n) for n in ("extra_capability", "cpu_info")]
        known = known_attributes(host.kind, host)
        await driver.delete_all()
        return found, known

    (capabilities, processors), known = drive(story, user="admin")
    assert capabilities == known["extra_capability"] == {"gpu": "yes"}
    assert processors["arch"] == known["cpu_info"]["arch"] == "x86_64"
    assert known["hypervisor_hostname"] == "reservable-1"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"arch": "x86_64"}', {"arch": "x86_64"}),
        ("{'arch': 'x86_64'}", {"arch": "x86_64"}),
        ("", ""),
        ("[1]", "[1]"),
        (None, None),
    ],
)
def test_what_is_known_of_processors_is_read_in_both_formats(text, found):
    assert as_map(text) == found


def test_a_reservation_has_the_fields_of_its_type_only():
    both = {"affinity": False, "before_end": "default"}
    assert reservation({**WHOLE, **both}) == {
        **WHOLE, "hypervisor_properties": "", "resource_properties": "", "before_end": "default",
    }  # fmt: skip
    sizes = {"amount": 1, "vcpus": 1, "memory_mb": 512, "disk_gb": 0}
    given = {"resource_type": "virtual:instance", **sizes, **both}
    assert reservation(given) == {
        "resource_type": "virtual:instance", **sizes, "affinity": False, "resource_properties": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"resource_type": "physical:host", "min": 1}, "max is required"),
        ({"resource_type": "physical:host", "min": 2, "max": 1}, "min must not be above max"),
        ({"resource_type": "virtual:instance", "amount": 1}, "vcpus is required"),
    ],
)
def test_a_reservation_that_lacks_a_field_is_refused(wrong, message):
    found = list(builtin_types()[LEASE].conflicts({**COURSE, "reservations": [wrong]}))
    assert message in str(found)
