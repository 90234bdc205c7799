"""OS::Aodh::Alarm: the rule that it sends, to a cloud that has such rules and one without."""

import pytest

from hearth.cloud import CloudFault
from tests.resources.driver import drive

TYPE = "OS::Aodh::Alarm"
BUSY = {"meter_name": "cpu_util", "threshold": 50, "statistic": "avg", "comparison_operator": "gt"}


def made(**properties):
    """The body of an alarm with these properties."""

    async def story(driver):
        driver.running.cloud.knobs.threshold_alarms = True
        ctx = await driver.create(TYPE, {**BUSY, **properties})
        await driver.delete_all()
        return ctx.body, driver.left()

    body, left = drive(story)
    assert left == {}
    return body


def test_the_rule_names_the_meter():
    body = made(period=120, evaluation_periods=2)
    assert body["type"] == "threshold"
    rule = {name: value for name, value in body["threshold_rule"].items() if name != "query"}
    assert rule == {**BUSY, "period": 120, "evaluation_periods": 2, "exclude_outliers": False}


@pytest.mark.parametrize(
    ("meter", "name", "field"),
    [
        ("cpu_util", "group", "metadata.user_metadata.group"),
        ("cpu_util", "metadata.user_metadata.group", "metadata.user_metadata.group"),
        ("cpu_util", "metering.group", "metadata.user_metadata.group"),
        ("disk.read.bytes.rate", "metadata.metering.group", "metadata.user_metadata.group"),
        ("network.incoming.bytes", "group", "metadata.user_metadata.group"),
        ("storage.objects", "group", "metadata.metering.group"),
        ("storage.objects", "metadata.user_metadata.group", "metadata.metering.group"),
    ],
)
def test_metadata_are_conditions_of_the_query(meter, name, field):
    body = made(meter_name=meter, matching_metadata={name: 1})
    assert body["threshold_rule"]["query"][0] == {
        "field": field, "op": "eq", "value": "1", "type": "",
    }  # fmt: skip


def test_conditions_of_the_query_come_first():
    given = {"field": "resource_id", "op": "eq", "value": "server-1"}
    body = made(query=[given], matching_metadata={"group": "web"})
    fields = [one["field"] for one in body["threshold_rule"]["query"]]
    assert fields == ["resource_id", "metadata.user_metadata.group", "project_id"]


def test_an_aodh_without_such_rules_refuses_it():
    async def story(driver):
        with pytest.raises(CloudFault, match="threshold_rule") as caught:
            await driver.create(TYPE, BUSY)
        return caught.value.status, driver.left()

    assert drive(story) == (400, {})
