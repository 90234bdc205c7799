"""Secrets, containers and orders: known by their URLs, found again by generated names."""

import pytest

from hearth.model.problem import Problem
from hearth.model.unknown import UNKNOWN
from hearth.resources.lookup import Names
from hearth.resources.registry import builtin_types
from tests.resources.driver import Broken, drive

SECRET = "OS::Barbican::Secret"
CREATES = {"service": "key-manager", "method": "POST", "times": 1}


def text(payload):
    return {"payload": payload, "payload_content_type": "text/plain"}


async def shown(ctx, *names):
    return [await ctx.kind.attribute(ctx, name) for name in names]


def test_the_url_of_a_secret_stands_for_it():
    async def story(driver):
        secret = await driver.create(SECRET, {"payload": "hush"})
        seen = await shown(secret, "status", "decrypted_payload")
        named = secret.kind.reference(secret) == secret.body["secret_ref"]
        await driver.delete_all()
        return seen, named, driver.left()

    assert drive(story) == (["ACTIVE", "hush"], True, {})


def test_bytes_are_shown_as_they_were_written():
    async def story(driver):
        kind = {
            "payload_content_type": "application/octet-stream",
            "payload_content_encoding": "base64",
        }
        secret = await driver.create(SECRET, {"payload": "/w==", **kind})
        empty = await driver.create(SECRET, {})
        return await shown(secret, "decrypted_payload") + await shown(empty, "decrypted_payload")

    assert drive(story) == ["/w==", None]


def test_what_a_lost_call_made_is_found_by_its_generated_name():
    async def story(driver):
        for plural in ("secrets", "containers", "orders"):
            match = {**CREATES, "path_regex": f"{plural}$"}
            driver.knobs({"match": match, "effect": {"withhold": 0.02}})
        secret = await driver.create(SECRET, text("hush"))
        ref = {"name": "one", "ref": secret.physical_id}
        await driver.create("OS::Barbican::GenericContainer", {"secrets": [ref]})
        order = {"type": "key", "algorithm": "aes", "bit_length": 128}
        await driver.create("OS::Barbican::Order", order)
        made = [call for call in driver.writes() if call[0] == "POST"]
        orphans = [await ctx.kind.orphans(ctx) for ctx in driver.made]
        await driver.delete_all()
        return len(made), orphans, driver.left()

    assert drive(story) == (3, [[], [], []], {})


def test_it_is_found_behind_many_others():
    async def story(driver):
        for number in range(12):
            await driver.create(SECRET, {}, f"s{number}")
        match = {**CREATES, "path_regex": "secrets$"}
        driver.knobs({"match": match, "effect": {"withhold": 0.02}})
        await driver.create(SECRET, text("hush"))
        await driver.delete_all()
        return driver.left()

    assert drive(story) == {}


def test_a_container_shows_its_secrets_by_name():
    async def story(driver):
        one, two = [await driver.create(SECRET, text(word), word) for word in ("one", "two")]
        given = {"certificate_ref": one.physical_id, "private_key_ref": two.physical_id}
        bundle = await driver.create("OS::Barbican::CertificateContainer", given)
        refs = await shown(bundle, "secret_refs")
        recorded = bundle.kind.recordable(bundle)["secret_refs"]
        wanted = {"certificate": one.physical_id, "private_key": two.physical_id}
        return refs == [wanted], recorded == wanted

    assert drive(story) == (True, True)


def test_a_pair_of_keys_that_was_ordered_can_be_read():
    async def story(driver):
        match = {**CREATES, "path_regex": "orders$"}
        driver.knobs({"match": match, "effect": {"slow_s": 0.1}})
        given = {"type": "asymmetric", "algorithm": "rsa", "bit_length": 2048}
        order = await driver.create("OS::Barbican::Order", given)
        return await shown(order, "public_key", "private_key", "certificate", "secret_ref")

    public, private, certificate, secret = drive(story)
    assert "PUBLIC KEY" in public
    assert "PRIVATE KEY" in private
    assert (certificate, secret) == (None, None)


def test_an_order_that_failed_tells_why():
    async def story(driver):
        match = {**CREATES, "path_regex": "orders$"}
        driver.knobs({"match": match, "effect": {"error": True}})
        given = {"type": "key", "algorithm": "aes", "bit_length": 128, "name": "mine"}
        with pytest.raises(Broken, match="Order 'mine' failed: 500 - "):
            await driver.create("OS::Barbican::Order", given)

    drive(story)


def test_a_secret_that_others_share_is_known_although_no_list_has_it():
    async def story(driver):
        secret = await driver.create(SECRET, {"payload": "hush"})
        store = driver.running.cloud.store
        thing = next(store.all("key-manager.secrets"))
        thing.project_id, who = "other", thing.body["creator_id"]
        thing.hidden["acl"] = {"users": [who]}
        names = Names(driver.cloud)
        names.begin(["barbican.secret"])
        found = await names.id_of("barbican.secret", secret.physical_id)
        missing = await names.id_of("barbican.secret", f"{secret.physical_id}0")
        return found == secret.physical_id, missing

    found, missing = drive(story)
    assert found
    assert isinstance(missing, Problem)
    assert "The Secret (http" in missing.message


@pytest.mark.parametrize(
    ("type_name", "given", "words"),
    [
        ("Secret", {"payload_content_type": "text/plain"}, "payload_content_type needs payload"),
        (
            "Secret",
            {"payload": "x", "payload_content_type": "application/octet-stream"},
            "payload_content_encoding is required",
        ),
        (
            "Secret",
            {**text("x"), "payload_content_encoding": "base64"},
            "only if payload_content_type is application/octet-stream",
        ),
        (
            "Secret",
            {"payload": "x", "payload_content_encoding": "base64"},
            "only if payload_content_type is application/octet-stream",
        ),
        (
            "Order",
            {"type": "key", "algorithm": "aes", "bit_length": 256, "pass_phrase": "x"},
            "pass_phrase is allowed only if type is asymmetric",
        ),
        (
            "Order",
            {"type": "certificate", "bit_length": 8},
            "bit_length is allowed only if type is key or asymmetric",
        ),
        (
            "Order",
            {"type": "certificate", "request_type": "stored-key", "subject_dn": "CN=x"},
            "source_container_ref is required if request_type is stored-key",
        ),
        (
            "GenericContainer",
            {"secrets": [{"name": "a", "ref": "x"}, {"name": "b", "ref": "x"}]},
            "two items must not have the same ref",
        ),
    ],
)
def test_properties_that_do_not_go_together_are_named(type_name, given, words):
    kind = builtin_types()[f"OS::Barbican::{type_name}"]
    (problem,) = kind.conflicts(given)
    assert words in str(problem)


def test_secrets_that_are_not_known_yet_are_no_twins():
    kind = builtin_types()["OS::Barbican::GenericContainer"]
    unknown = [{"name": "a", "ref": UNKNOWN}, {"name": "b", "ref": UNKNOWN}]
    assert list(kind.conflicts({"secrets": unknown})) == []
