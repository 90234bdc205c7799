"""VPCs: a router of their own, route tables that take subnets over, and the way out."""

from tests.resources.driver import drive


async def vpc_of(driver):
    vpc = await driver.create("AWS::EC2::VPC", {"CidrBlock": "10.2.0.0/16"}, "vpc")
    given = {"VpcId": vpc.physical_id, "CidrBlock": "10.2.1.0/24"}
    return vpc, await driver.create("AWS::EC2::Subnet", given, "subnet")


async def legs(driver):
    """The names of the routers with a port in a subnet."""
    routers = {one["id"]: one for one in await driver.cloud.listing("network", "/v2.0/routers")}
    ports = await driver.cloud.listing("network", "/v2.0/ports")
    found = {p["device_id"] for p in ports if p["device_owner"] == "network:router_interface"}
    return {routers[one]["name"] for one in found}


def test_a_route_table_takes_a_subnet_over_and_gives_it_back():
    async def story(driver):
        before = await legs(driver)
        vpc, subnet = await vpc_of(driver)
        found = [await legs(driver) - before]
        table = await driver.create("AWS::EC2::RouteTable", {"VpcId": vpc.physical_id}, "table")
        given = {"RouteTableId": table.physical_id, "SubnetId": subnet.physical_id}
        kind = "AWS::EC2::SubnetRouteTableAssociation"
        driver.knobs({"match": {"method": "PUT", "path_regex": "router_interface$"},
                      "effect": {"withhold": 0.05}})  # fmt: skip
        association = await driver.create(kind, given, "association")
        found.append(await legs(driver) - before)
        driver.running.cloud.knobs.clear()
        await driver.delete(association)
        found.append(await legs(driver) - before)
        names = [vpc.physical_name, table.physical_name, vpc.physical_name]
        await driver.delete_all()
        return [one == {name} for one, name in zip(found, names, strict=True)], driver.left()

    assert drive(story) == ([True, True, True], {})


def test_the_way_out_is_for_the_route_tables_of_the_vpc_only():
    async def story(driver):
        vpc, _ = await vpc_of(driver)
        other, _ = await vpc_of(driver)
        for one in (vpc, vpc, other):
            await driver.create("AWS::EC2::RouteTable", {"VpcId": one.physical_id}, "table")
        gateway = {"VpcId": vpc.physical_id, "InternetGatewayId": "any"}

        async def out():
            routers = await driver.cloud.listing("network", "/v2.0/routers")
            return len([one for one in routers if one["external_gateway_info"]])

        before = await out()
        attachment = await driver.create("AWS::EC2::VPCGatewayAttachment", gateway, "way")
        counts = [await out() - before]
        await driver.delete(attachment)
        counts.append(await out() - before)
        await driver.delete_all()
        return counts, driver.left()

    assert drive(story) == ([2, 0], {})


def test_a_lost_answer_makes_no_second_router():
    async def story(driver):
        driver.knobs({"match": {"method": "POST", "path_regex": "/(routers|networks)$"},
                      "effect": {"withhold": 0.05}})  # fmt: skip
        vpc = await driver.create("AWS::EC2::VPC", {}, "vpc")
        driver.running.cloud.knobs.clear()
        there, orphans = driver.left(), await vpc.kind.orphans(vpc)
        await driver.delete_all()
        return there, orphans, driver.left()

    there, orphans, left = drive(story)
    assert (there["network.routers"], there["network.networks"]) == (1, 1)
    assert list(orphans) == []
    assert left == {}
