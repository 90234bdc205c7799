"""A stack of real types, worked by the real engine on a real HTTP cloud."""

import asyncio
import json
import random
import time
import uuid

import pytest
import sqlalchemy as sa

from hearth.cloud import CloudConfig, PasswordCredential
from hearth.cloud.pool import CloudPool
from hearth.engine.endpoints import Endpoints
from hearth.engine.programs.programs import Programs
from hearth.engine.worker.engine import Engine
from hearth.engine.worker.ports import Tools
from hearth.model.state import Action
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.registry import default_catalog
from hearth.service.stack_clouds import StackClouds
from hearth.store import accept, tables
from hearth.store.clock import DatabaseClock
from hearth.store.credentials import Requester
from hearth.store.database import Store
from hearth.store.rows import Revision, stack_row
from hearth.store.seal import sealer_from_secret
from hearth_devcloud.server import serve
from tests import hurry

TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  n: {type: number, default: 2}
resources:
  secret: {type: OS::Heat::RandomString}
  key: {type: OS::Nova::KeyPair, properties: {name: kp}}
  net: {type: OS::Neutron::Net, properties: {name: inner}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.0.0.0/24}
  router:
    type: OS::Neutron::Router
    properties: {external_gateway_info: {network: public}}
  leg:
    type: OS::Neutron::RouterInterface
    properties: {router: {get_resource: router}, subnet: {get_resource: subnet}}
  wall: {type: OS::Neutron::SecurityGroup, properties: {rules: [{protocol: icmp}]}}
  port:
    type: OS::Neutron::Port
    properties: {network: {get_resource: net}, security_groups: [{get_resource: wall}]}
  address:
    type: OS::Neutron::FloatingIP
    properties: {floating_network: public, port_id: {get_resource: port}}
  server:
    type: OS::Nova::Server
    properties:
      image: cirros
      flavor: m1.tiny
      key_name: {get_resource: key}
      networks: [{port: {get_resource: port}}]
      user_data: {get_attr: [secret, value]}
  disk: {type: OS::Cinder::Volume, properties: {size: 1}}
  plug:
    type: OS::Cinder::VolumeAttachment
    properties: {instance_uuid: {get_resource: server}, volume_id: {get_resource: disk}}
  box: {type: OS::Swift::Container}
  handle: {type: OS::Heat::WaitConditionHandle}
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: {get_param: n}
      resource_def:
        type: OS::Nova::Server
        properties:
          name: member-%index%
          image: cirros
          flavor: m1.tiny
          networks: [{network: {get_resource: net}}]
  child:
    type: child.yaml
    properties: {text: {get_attr: [server, first_address]}}
"""
CHILD = """
heat_template_version: 2021-04-16
parameters: {text: {type: string}}
resources:
  kept: {type: OS::Heat::Value, properties: {value: {get_param: text}}}
outputs: {out: {value: {get_attr: [kept, value]}}}
"""


class House:
    """One engine over a database in memory, and a cloud with a domain for the users of stacks."""

    async def cloud(self):
        """Start the cloud."""
        return await serve()

    async def open(self, **endpoints):
        self.running = await self.cloud()
        url = self.running.auth_url

        def user(name, project):
            return PasswordCredential(
                url, name, "secret", user_domain_id="default",
                project_name=project, project_domain_id="default",
            )  # fmt: skip

        first = CloudPool(CloudConfig())
        domains = await first.cloud(user("admin", "admin")).listing("identity", "/v3/domains")
        domain = next(one["id"] for one in domains if one["name"] == "heat")
        await first.aclose()
        keeper = PasswordCredential(
            url, "heat_domain_admin", "secret", user_domain_id=domain, domain_id=domain
        )
        self.pool = CloudPool(
            CloudConfig(
                service_user=user("hearth", "service"),
                domain_admin=keeper,
                stack_user_domain_id=domain,
                reauthentication_auth_method="trusts",
            )
        )
        demo = self.pool.cloud(user("demo", "demo"))
        self.who, self.token = await demo.whoami(), await demo.token()
        self.store = Store("sqlite://", sealer_from_secret("test"), clock=time.time, inline=True)
        self.store.create_tables()
        tools = Tools(
            store=self.store,
            clouds=StackClouds(self.pool),
            programs=Programs(default_catalog(), template_type=TemplateResource),
            clock=DatabaseClock(),
            new_id=new_id,
            jitter=random.random,
            endpoints=Endpoints(heat="http://heat/v1/{project}", identity=url, **endpoints),
            orphan_watch_s=8.0,
        )
        self.engine = Engine(tools)
        self.task = asyncio.create_task(self.engine.run())
        self.running.cloud.store.ledger.mark()

    async def close(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
        await self.pool.aclose()
        await self.running.close()

    async def create(self, wanted=None):
        new = accept.NewStack(
            id=new_id(),
            project_id=self.who.project_id,
            name="web",
            revision=wanted or revision(2),
            credential=(new_id(), Requester(self.running.auth_url, self.token)),
        )
        await self.store.run(lambda tx: accept.create(tx, new, time.time(), new_id))
        return await self.rest(new.id)

    async def operate(self, ident, action, wanted=None):
        operation = accept.OperationRequest(action, wanted)
        await self.store.run(lambda tx: accept.operate(tx, ident, operation, time.time(), new_id))
        return await self.rest(ident)

    async def rest(self, ident):
        self.engine.wake()
        query = sa.select(tables.stack).where(tables.stack.c.id == ident)
        for _ in range(2400):
            row = await self.store.read(lambda tx: stack_row(tx, tx.first(query)))
            if row.status.value != "IN_PROGRESS":
                return row
            await asyncio.sleep(0.05)
        raise TimeoutError(row.action)

    def left(self):
        ledger = self.running.cloud.store.ledger
        return [
            f"{entry.service}.{entry.collection}"
            for entry in ledger.entries[ledger.first :]
            if entry.deleted is None and not entry.implicit and entry.collection != "tokens"
        ]


def new_id():
    return str(uuid.uuid4())


def revision(count):
    return Revision(template=TEMPLATE, files={"child.yaml": CHILD}, parameters={"n": count})


def lives(rules):
    async def story():
        house = House()
        await house.open()
        house.running.cloud.knobs.add(rules)
        try:
            rows = [await house.create()]
            ident = rows[0].id
            made = house.left()
            rows.append(await house.operate(ident, Action.UPDATE, revision(3)))
            grown = house.left()
            rest = (Action.SUSPEND, Action.RESUME, Action.CHECK, Action.DELETE)
            rows += [await house.operate(ident, action) for action in rest]
            states = [f"{row.action}_{row.status} {row.reason}" for row in rows]
            return states, made, grown, house.left()
        finally:
            await house.close()

    states, made, grown, left = hurry.run(story())
    assert [state.split()[0].rpartition("_")[2] for state in states] == ["COMPLETE"] * 6, states
    assert made.count("compute.servers") == 3
    assert grown.count("compute.servers") == 4
    assert left == []


def test_a_stack_of_many_types_lives_and_leaves_nothing_behind():
    lives([])


def test_what_takes_the_place_of_a_thing_of_the_same_name_stays():
    def pair(number):
        key = f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{number:043d} me"
        given = {"name": "kp", "public_key": key}
        body = {"type": "OS::Nova::KeyPair", "properties": given}
        return Revision(
            json.dumps({"heat_template_version": "2021-04-16", "resources": {"key": body}})
        )

    async def story():
        house = House()
        await house.open()
        try:
            ident = (await house.create(pair(1))).id
            rows = [await house.operate(ident, Action.UPDATE, pair(number)) for number in (2, 3)]
            there = house.left()
            rows += [await house.operate(ident, one) for one in (Action.CHECK, Action.DELETE)]
            return [str(row.status) for row in rows], there, house.left()
        finally:
            await house.close()

    states, there, left = hurry.run(story())
    assert states == ["COMPLETE"] * 4
    assert there.count("compute.keypairs") == 1
    assert left == []


NESTED = """
heat_template_version: 2021-04-16
resources:
  disk:
    type: OS::Cinder::Volume
    properties: {size: 1, scheduler_hints: {near: it, heat_stack_id: mine}}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 1, resource_def: {type: child.yaml}}
"""
SERVER = """
heat_template_version: 2021-04-16
resources:
  server:
    type: OS::Nova::Server
    properties: {image: cirros, flavor: m1.tiny, networks: [{network: private}]}
"""


def hints_of_creates(**endpoints):
    """What the schedulers were told, by the last part of the path, and the stacks that were made:
    {name: (id, ids of its records by name)}."""
    told = {}

    async def story():
        house = House()
        await house.open(**endpoints)
        handle = house.running.cloud.handle

        def seen(call):
            kind = call.path.rpartition("/")[2]
            if call.method == "POST" and kind in ("servers", "volumes"):
                body = call.json()
                told[kind] = {k: v for k, v in body.items() if k.endswith("scheduler_hints")}
            return handle(call)

        house.running.cloud.handle = seen
        try:
            row = await house.create(Revision(template=NESTED, files={"child.yaml": SERVER}))
            assert row.status.value == "COMPLETE", row.reason
            stacks = await house.store.read(lambda tx: tx.rows(sa.select(tables.stack)))
            records = await house.store.read(lambda tx: tx.rows(sa.select(tables.resource)))
        finally:
            await house.close()
        return {
            stack.name: (
                stack.id, {one.name: one.id for one in records if one.stack_id == stack.id}
            )
            for stack in stacks
        }  # fmt: skip

    return told, hurry.run(story())


def test_schedulers_are_told_where_a_server_or_volume_belongs_if_the_operator_wants_it():
    told, stacks = hints_of_creates(stack_scheduler_hints=True)
    (root, group, member) = sorted(stacks, key=len)
    root_id, member_id = stacks[root][0], stacks[member][0]
    assert told["volumes"]["OS-SCH-HNT:scheduler_hints"] == {
        "near": "it",
        "heat_root_stack_id": root_id,
        "heat_stack_id": root_id,
        "heat_stack_name": "web",
        "heat_path_in_stack": ["web"],
        "heat_resource_name": "disk",
        "heat_resource_uuid": stacks[root][1]["disk"],
    }
    assert told["servers"]["os:scheduler_hints"] == {
        "heat_root_stack_id": root_id,
        "heat_stack_id": member_id,
        "heat_stack_name": member,
        "heat_path_in_stack": ["web", f"group,{group}", f"0,{member}"],
        "heat_resource_name": "server",
        "heat_resource_uuid": stacks[member][1]["server"],
    }


def test_else_they_hear_what_the_template_says():
    told, _ = hints_of_creates()
    assert told == {
        "servers": {},
        "volumes": {"OS-SCH-HNT:scheduler_hints": {"near": "it", "heat_stack_id": "mine"}},
    }


@pytest.mark.slow
def test_it_does_so_when_every_other_answer_to_a_write_is_lost():
    paths = "^/(network|compute|volume|object-store)"
    lives(
        [
            {
                "match": {"method": method, "path_regex": paths, "nth": nth},
                "effect": {"withhold": 0.02},
            }
            for method in ("POST", "PUT", "DELETE")
            for nth in range(1, 60, 2)
        ]
    )
