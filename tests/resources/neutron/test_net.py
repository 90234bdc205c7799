"""Networks, and what holds for every type over a collection."""

from tests.resources.driver import drive

NET = "OS::Neutron::Net"


def test_a_network_is_made_changed_and_removed():
    async def story(driver):
        net = await driver.create(NET, {"name": "inner", "tags": ["one"]})
        shown = await net.kind.show(net)
        await driver.update(net, {"name": "renamed", "tags": ["two"], "admin_state_up": False})
        changed = await net.kind.show(net)
        await driver.delete(net)
        return shown, changed, driver.left(), driver.writes()

    shown, changed, left, writes = drive(story)
    assert (shown["name"], shown["tags"]) == ("inner", ["one"])
    assert (changed["name"], changed["tags"]) == ("renamed", ["two"])
    assert changed["admin_state_up"] is False
    assert left == {}
    assert [status for _, _, status in writes] == [201, 200, 200, 200, 204]


def test_without_a_name_the_generated_one_is_used():
    async def story(driver):
        net = await driver.create(NET, {})
        return net.body["name"], net.physical_name

    name, generated = drive(story)
    assert name == generated


def test_a_network_whose_answer_was_withheld_is_found_and_not_made_twice():
    async def story(driver):
        driver.knobs(
            {"match": {"service": "network", "method": "POST", "times": 1},
             "effect": {"withhold": 0.05}}
        )  # fmt: skip
        net = await driver.create(NET, {"name": "inner"})
        return net.physical_id, driver.left()

    ident, left = drive(story)
    assert ident
    assert left == {"network.networks": 1}


def test_a_stranger_of_the_same_name_is_never_adopted():
    async def story(driver):
        body = {"network": {"name": "inner"}}
        other = await driver.cloud.request("network", "POST", "/v2.0/networks", json=body)
        driver.knobs(
            {
                "match": {"service": "network", "method": "POST", "times": 1},
                "effect": {"drop": True},
            }
        )
        net = await driver.create(NET, {"name": "inner"})
        return other.part("network")["id"], net.physical_id, await net.kind.orphans(net)

    stranger, ours, orphans = drive(story)
    assert stranger != ours
    assert orphans == []


def test_what_turns_up_later_under_the_key_is_a_stray():
    async def story(driver):
        net = await driver.create(NET, {"name": "inner"})
        late = {"network": {"name": "inner", "description": f"hearth:{net.key}"}}
        await driver.cloud.request("network", "POST", "/v2.0/networks", json=late)
        orphans = await net.kind.orphans(net)
        for one in orphans:
            await net.kind.delete_orphan(net, one)
        return orphans, net.physical_id, driver.left()

    orphans, ours, left = drive(story)
    assert len(orphans) == 1
    assert ours not in orphans
    assert left == {"network.networks": 1}


def test_deleting_what_is_gone_is_done():
    async def story(driver):
        net = await driver.create(NET, {})
        await driver.cloud.request("network", "DELETE", f"/v2.0/networks/{net.physical_id}")
        await driver.delete(net)

    drive(story)


def test_an_object_has_a_url_of_its_own():
    async def story(driver):
        net = await driver.create(NET, {"name": "inner"})
        body = (await net.request("GET")).part("network")
        await net.request("PUT", "tags", {"tags": ["a"]})
        again = (await net.request("GET")).part("network")
        return body["name"], again["tags"]

    assert drive(story) == ("inner", ["a"])


def test_port_security_that_is_no_longer_given_is_that_of_the_service_or_the_network():
    async def story(driver):
        found = {}
        for secure in (True, False):
            net = await driver.create(NET, {"port_security_enabled": secure}, f"net-{secure}")
            given = {"network": net.physical_id}
            wanted = {**given, "port_security_enabled": not secure}
            port = await driver.create("OS::Neutron::Port", wanted, f"port-{secure}")
            before = (await port.kind.show(port))["port_security_enabled"]
            await driver.update(port, given)
            after = (await port.kind.show(port))["port_security_enabled"]
            await driver.update(net, {})
            found[secure] = before, after, (await net.kind.show(net))["port_security_enabled"]
        return found

    assert drive(story) == {True: (False, True, True), False: (True, False, True)}


def test_no_boolean_becomes_null():
    async def story(driver):
        net = await driver.create(NET, {})
        given = {"network": net.physical_id}
        port = await driver.create("OS::Neutron::Port", {**given, "propagate_uplink_status": False})
        await driver.update(port, given)
        group = await driver.create("OS::Neutron::SecurityGroup", {"stateful": False})
        await driver.update(group, {})
        return (await group.kind.show(group))["stateful"]

    assert drive(story) is True
