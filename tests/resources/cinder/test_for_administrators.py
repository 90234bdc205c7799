"""Volume types with what belongs to them, and limits; by an administrator."""

import pytest

from hearth.cloud.fault import CloudFault
from hearth.resources.registry import builtin_types
from tests.resources.driver import drive
from tests.resources.keystone.test_people import withheld

QOS, TIE = "OS::Cinder::QoSSpecs", "OS::Cinder::QoSAssociation"
TYPE, QUOTA = "OS::Cinder::VolumeType", "OS::Cinder::Quota"
CIPHER = "OS::Cinder::EncryptedVolumeType"


def test_specifications_whose_answer_was_lost_are_found_and_show_no_key():
    async def story(driver):
        driver.knobs(withheld("/qos-specs$"))
        specs = {"consumer": "front-end", "read_iops_sec": 100, "write_iops_sec": "50"}
        qos = await driver.create(QOS, {"name": "slow", "specs": specs})
        first = await qos.kind.show(qos)
        await driver.update(qos, {"name": "slow", "specs": {"read_iops_sec": "7"}})
        second = await qos.kind.show(qos)
        orphans = list(await qos.kind.orphans(qos))
        await driver.delete_all()
        return first, second, orphans, driver.left()

    first, second, orphans, left = drive(story, user="admin")
    assert (first["name"], first["consumer"]) == ("slow", "front-end")
    assert first["specs"] == {"read_iops_sec": "100", "write_iops_sec": "50"}
    assert (second["consumer"], second["specs"]) == ("back-end", {"read_iops_sec": "7"})
    assert orphans == []
    assert left == {}


def test_types_follow_specifications_as_long_as_they_are_named():
    async def story(driver):
        qos = await driver.create(QOS, {"name": "slow", "specs": {"a": "1"}})
        types = [await driver.create(TYPE, {"name": name}, name) for name in ("one", "two")]
        tie = await driver.create(TIE, {"qos_specs": "slow", "volume_types": ["one"]})

        async def following():
            path = f"/qos-specs/{qos.physical_id}/associations"
            rows = (await driver.cloud.request("block-storage", "GET", path)).body
            return [row["name"] for row in rows["qos_associations"]]

        seen = [await following()]
        await driver.update(tie, {"qos_specs": "slow", "volume_types": ["two"]})
        seen.append(await following())
        await driver.delete(tie)
        seen.append(await following())
        await driver.create(TIE, {"qos_specs": "slow", "volume_types": ["one", "two"]})
        await driver.delete(qos)
        for kind in types:
            await driver.delete(kind)
        driver.made.clear()
        return seen, driver.left()

    assert drive(story, user="admin") == ([["one"], ["two"], []], {})


def test_a_replacement_takes_the_types_over_and_a_rollback_gives_them_back():
    async def story(driver):
        for name in ("slow", "fast"):
            await driver.create(QOS, {"name": name, "specs": {"a": "1"}}, name)
        await driver.create(TYPE, {"name": "one"})
        old = await driver.create(TIE, {"qos_specs": "slow", "volume_types": ["one"]}, "old")
        for step in old.kind.replaced_steps(old):
            await step.do(old)
        new = await driver.create(TIE, {"qos_specs": "fast", "volume_types": ["one"]}, "new")
        await driver.delete(new)
        for step in old.kind.taken_back_steps(old):
            await step.do(old)
        path = f"/qos-specs/{old.properties['qos_specs']}/associations"
        rows = (await driver.cloud.request("block-storage", "GET", path)).body
        await driver.delete_all()
        return len(rows["qos_associations"]), driver.left()

    assert drive(story, user="admin") == (1, {})


def test_a_type_whose_encryption_was_made_without_an_answer_is_encrypted_once():
    async def story(driver):
        driver.knobs(withheld("/encryption$"))
        kind = await driver.create(TYPE, {"name": "secret"})
        given = {"volume_type": "secret", "provider": "luks", "key_size": 256}
        cipher = await driver.create(CIPHER, given)
        same = cipher.physical_id == kind.physical_id
        await driver.update(cipher, {**given, "key_size": 512, "cipher": "aes-cbc-essiv"})
        shown = await cipher.kind.show(cipher)
        await driver.delete(cipher)
        with pytest.raises(CloudFault, match="no encryption"):
            await cipher.kind.show(cipher)
        await driver.delete_all()
        return same, shown

    same, shown = drive(story, user="admin")
    assert same
    assert (shown["key_size"], shown["cipher"], shown["provider"]) == (512, "aes-cbc-essiv", "luks")


def test_an_encryption_that_somebody_else_made_is_not_taken_over():
    async def story(driver):
        await driver.create(TYPE, {"name": "secret"})
        await driver.create(CIPHER, {"volume_type": "secret", "provider": "luks"})
        driver.knobs(withheld("/encryption$"))
        with pytest.raises(CloudFault, match="already exists"):
            await driver.create(CIPHER, {"volume_type": "secret", "provider": "plain"})

    drive(story, user="admin")


def test_limits_are_set_changed_and_given_up():
    async def story(driver):
        quota = await driver.create(QUOTA, {"project": "demo", "volumes": 3, "snapshots": -1})
        seen = [await quota.kind.show(quota)]
        await driver.update(quota, {"project": "demo", "volumes": 4})
        seen.append(await quota.kind.show(quota))
        await driver.delete(quota)
        seen.append(await quota.kind.show(quota))
        return [(one["volumes"], one["snapshots"]) for one in seen]

    assert drive(story, user="admin") == [(3, -1), (4, 10), (10, 10)]


def test_a_limit_below_what_is_in_use_is_refused():
    async def story(driver):
        await driver.create("OS::Cinder::Volume", {"size": 5})
        with pytest.raises(
            CloudFault, match="gigabytes: the limit 4 is below the current usage, 5"
        ):
            await driver.create(QUOTA, {"project": "admin", "gigabytes": 4})
        return driver.left()

    assert drive(story, user="admin") == {"volume.volumes": 1}


def test_a_quota_without_any_limit_is_no_quota():
    (wrong,) = builtin_types()[QUOTA].conflicts({"project": "p"})
    assert wrong.message.startswith("one of backup_gigabytes, backups")
    assert not list(builtin_types()[QUOTA].conflicts({"project": "p", "volumes": 1}))
