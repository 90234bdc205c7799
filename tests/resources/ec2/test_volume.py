"""Volumes in AWS's words: kept as a backup, made from one."""

from hearth.model.state import Action
from tests.resources.driver import drive

VOLUME = "AWS::EC2::Volume"


def test_a_volume_is_kept_as_a_backup_and_made_from_it():
    async def story(driver):
        tags = [{"Key": "role", "Value": "scratch"}]
        disk = await driver.create(VOLUME, {"AvailabilityZone": "nova", "Size": 1, "Tags": tags})
        await driver.run(disk, Action.SNAPSHOT)
        back = disk.kind.restored(disk.properties, disk.data)
        again = await driver.create(VOLUME, back, "again")
        bodies = [await one.kind.show(one) for one in (disk, again)]
        await disk.kind.drop_snapshot(disk)
        await driver.delete_all()
        return back["SnapshotId"] == disk.data["backup_id"], bodies, driver.left()

    kept, bodies, left = drive(story)
    assert kept
    assert [(body["size"], body["metadata"]) for body in bodies] == [(1, {"role": "scratch"})] * 2
    assert left == {}
