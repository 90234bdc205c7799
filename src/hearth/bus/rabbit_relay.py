"""Wake-ups between processes through a RabbitMQ fanout exchange."""

import asyncio
from collections.abc import Callable

import aio_pika
from aio_pika.abc import AbstractIncomingMessage
from aio_pika.exceptions import AMQPError

from hearth.bus.rabbit import connected
from hearth.bus.relay import Relay

EXCHANGE = "hearth.work"
SEND_S = 10.0


class RabbitRelay(Relay):
    """A relay with its own queue, which the broker deletes when the connection closes.

    `transport_url` names the brokers in the format of oslo.messaging. The exchange also passes each
    wake-up back to its sender. If a wake-up does not come back, the queue is deleted or not bound
    any more, or the broker is silent: then the relay connects again.
    """

    failures = (AMQPError, OSError, TimeoutError, RuntimeError)

    def __init__(self, transport_url: str, name: str, wake: Callable[[], None]) -> None:
        super().__init__(name, wake)
        self._transport_url = transport_url

    async def relay(self) -> None:
        """Connect, then send and receive wake-ups until the connection fails. Raises its error."""
        connection = await connected(self._transport_url)
        async with connection:
            channel = await connection.channel(publisher_confirms=False)
            exchange = await channel.declare_exchange(
                EXCHANGE, aio_pika.ExchangeType.FANOUT, durable=False, auto_delete=True
            )
            queue = await channel.declare_queue(exclusive=True, auto_delete=True)
            await queue.bind(exchange)

            returned = asyncio.Event()

            async def hear(message: AbstractIncomingMessage) -> None:
                name = message.body.decode(errors="replace")
                if name == self.name:
                    returned.set()
                self.heard(name)

            async def send() -> None:
                returned.clear()
                async with asyncio.timeout(SEND_S):
                    await exchange.publish(aio_pika.Message(self.name.encode()), routing_key="")
                    await returned.wait()

            await queue.consume(hear, no_ack=True)
            await self.send_until(channel.closed(), send)
