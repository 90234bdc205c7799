"""Signals that are versions of an object."""

import asyncio
import json

import aiohttp
import pytest

from hearth.cloud import CloudFault
from hearth.resources.base import Later, Ready
from tests.resources.driver import Broken, drive
from tests.resources.keystone.test_people import withheld

HANDLE, SIGNAL = "OS::Heat::SwiftSignalHandle", "OS::Heat::SwiftSignal"


async def put(url, *bodies):
    async with aiohttp.ClientSession() as http:
        for body in bodies:
            data = body if isinstance(body, str) else json.dumps(body)
            async with http.put(url, data=data) as answer:
                assert answer.status == 201


def wait_for(*bodies, count=1, **more):
    """What a condition says after these signals, and what is left when all is deleted."""

    async def story(driver):
        driver.knobs(withheld("/none"))
        handle = await driver.create(HANDLE, {})
        url = handle.kind.reference(handle)
        await put(url, *bodies)
        given = {"handle": url, "count": count, "timeout": 60}
        try:
            signal = await driver.create(SIGNAL, given, now=100.0, started_at=100.0, **more)
            said = signal.kind.recordable(signal)["data"]
        except Broken as broken:
            said = str(broken)
        await driver.delete_all()
        return said, driver.left()

    said, left = drive(story)
    assert left == {}
    return said


def test_the_handle_is_a_url_that_takes_signals():
    async def story(driver):
        match = {"method": "PUT", "path_regex": "/stack-id", "times": 2}
        driver.knobs({"match": match, "effect": {"withhold": 0.05}})
        handle = await driver.create(HANDLE, {})
        shown = handle.kind.recordable(handle)
        again = await handle.kind.find(handle)
        other = await driver.create(HANDLE, {})
        await put(shown["endpoint"], "")
        await put(other.kind.reference(other), "", "")
        await driver.delete(handle)
        there = driver.left()
        await driver.delete_all()
        return handle, shown, again, there, driver.left()

    handle, shown, again, there, left = drive(story)
    assert shown["endpoint"] == handle.kind.reference(handle)
    assert shown["curl_cli"] == f"curl -i -X PUT '{shown['endpoint']}'"
    assert shown["token"] == ""
    assert again.physical_id == handle.physical_name
    assert there == {"object-store.containers": 1, "object-store.objects": 3}
    assert left == {}


WITH_CONTAINERS = [
    (HANDLE, {}),
    ("OS::Heat::WaitConditionHandle", {"signal_transport": "TEMP_URL_SIGNAL"}),
    ("OS::Heat::DeployedServer", {"name": "s", "software_config_transport": "POLL_TEMP_URL"}),
]


@pytest.mark.parametrize(("rtype", "properties"), WITH_CONTAINERS)
def test_a_refused_object_leaves_no_container(rtype, properties):
    async def story(driver):
        match = {
            "service": "object-store",
            "method": "PUT",
            "path_regex": "AUTH_[^/]+/[^/]+/.",
        }
        driver.knobs({"match": match, "effect": {"status": 413}})
        with pytest.raises(CloudFault):
            await driver.create(rtype, properties)
        made = len(driver.running.cloud.store.where("object-store.containers"))
        await driver.delete_all()
        return made, driver.left()

    made, left = drive(story)
    assert left == {}
    assert made == (rtype == HANDLE)


@pytest.mark.parametrize(("rtype", "properties"), WITH_CONTAINERS)
def test_an_empty_container_whose_delete_is_refused_is_deleted_later(rtype, properties):
    async def story(driver):
        made = await driver.create(rtype, properties)
        match = {"service": "object-store", "method": "DELETE", "path_regex": "AUTH_[^/]+/[^/]+$"}
        driver.knobs({"match": match, "effect": {"status": 409}})
        with pytest.raises(CloudFault) as refused:
            await driver.delete(made)
        there = driver.left().get("object-store.containers")
        driver.running.cloud.knobs.clear()
        await driver.delete(made)
        return refused.value.conflict, there, driver.left()

    assert drive(story) == (True, 1, {})


def test_signals_are_counted_and_their_data_kept():
    said = wait_for("", {"id": "x", "data": 7}, {"data": "z"}, count=3)
    assert json.loads(said) == {"1": None, "x": 7, "3": "z"}


def test_a_signal_of_the_same_id_takes_the_place_of_the_one_before():
    signals = [{"id": "a", "data": 1}, {"id": "a", "data": 2}, {"id": "b"}]
    assert json.loads(wait_for(*signals, count=2)) == {"a": 2, "b": None}


def test_a_failure_ends_the_waiting_with_its_reason():
    bodies = [{"status": "FAILURE", "reason": "no"}, {}, {"status": "FAILURE", "reason": "nor"}]
    assert wait_for(*bodies, count=9) == "no;nor"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("{", "This signal is not JSON: {"),
        ([1], "This signal is not a JSON object: [1]"),
        ({"status": "MAYBE"}, "Unknown status: MAYBE"),
    ],
)
def test_what_is_no_signal_ends_the_waiting(body, words):
    assert wait_for(body) == words


def test_it_looks_again_until_time_is_over_and_reads_what_is_old_once():
    async def story(driver):
        handle = await driver.create(HANDLE, {})
        url = handle.kind.reference(handle)
        given = {"handle": url, "count": 3, "timeout": 60}
        await put(url, "", {"reason": "well"})
        signal = await driver.create(SIGNAL, {**given, "count": 1}, now=100.0, started_at=100.0)
        signal.properties = await driver.settled(signal.kind, given)
        signal.body, signal.now = None, 101.0
        later = await signal.kind.wait(signal)
        signal.body = later.body
        calls = driver.running.cloud.store.ledger.calls
        before = len(calls)
        again = await signal.kind.wait(signal)
        reads = [call.path for call in calls[before:] if "format=json" not in call.path]
        signal.now = 161.0
        late = await signal.kind.wait(signal)
        await put(url, "")
        signal.now = 102.0
        done = await signal.kind.wait(signal)
        return later, again, len(reads), late, done

    later, again, reads, late, done = drive(story)
    assert isinstance(later, Later)
    assert isinstance(again, Later)
    assert reads == 1
    assert late.reason == "2 of 3 received - Signal 1 received;well"
    assert late.error == "SwiftSignalTimeout"
    assert isinstance(done, Ready)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://h/other", "handle: http://h/other is not a temporary URL"),
        ("http://h/v1/AUTH_x/elsewhere/o", "handle: expected a URL in the container"),
    ],
)
def test_a_url_that_is_no_handle_of_the_stack_is_refused(url, words):
    async def story(driver):
        with pytest.raises(Broken, match=words):
            await driver.create(SIGNAL, {"handle": url, "timeout": 9})

    drive(story)


def test_handles_made_at_once_have_urls_of_the_same_key():
    async def story(driver):
        made = await asyncio.gather(*(driver.create(HANDLE, {}, f"h{n}") for n in range(5)))
        for handle in made:
            await put(handle.kind.reference(handle), "")
        await driver.delete_all()
        return driver.left()

    assert drive(story) == {}
