"""Publishing notifications to RabbitMQ with confirmations of the broker."""

import asyncio
from types import TracebackType

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection, AbstractExchange
from aio_pika.exceptions import AMQPError

from hearth.bus.notification import BrokerMessage, Notifications, addresses

CONNECT_S = 10.0
CONFIRM_S = 30.0


class NotSent(Exception):
    """The broker did not confirm a message, or has no queue for it.

    Without a confirmation the broker may still have received the message.
    """


class Publisher:
    """Publishes notifications; connects on first use and again after a failure.

    `to` are the settings of the notifications. Like oslo.messaging, the publisher declares one
    queue per routing key and binds it, so that messages are stored before the first consumer
    connects. If somebody deletes such a queue, the next message is returned; then the publisher
    connects again and declares the queue again.
    """

    def __init__(self, to: Notifications) -> None:
        self._to = to
        self._connection: AbstractConnection | None = None
        self._channel: AbstractChannel | None = None
        self._exchange: AbstractExchange | None = None
        self._bound: set[str] = set()

    async def __aenter__(self) -> "Publisher":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def publish(self, message: BrokerMessage) -> None:
        """Send a message to all topics and wait until the broker confirms it.

        Raises NotSent; some topics may then have the message.
        """
        try:
            async with asyncio.timeout(CONFIRM_S):
                exchange = await self._opened()
                for key in message.routing_keys:
                    await self._bind(key)
                    await exchange.publish(_amqp(message), routing_key=key)
        except (AMQPError, OSError, TimeoutError, RuntimeError) as problem:
            await self.close()
            raise NotSent(
                f"not confirmed by the broker: {str(problem) or type(problem).__name__}"
            ) from problem

    async def close(self) -> None:
        """Close the connection; the next `publish` opens a new one."""
        connection, self._connection = self._connection, None
        self._exchange = self._channel = None
        self._bound.clear()
        if connection is not None:
            try:
                await connection.close()
            except (AMQPError, OSError, RuntimeError):  # the connection was already broken
                return

    async def _opened(self) -> AbstractExchange:
        if self._exchange is not None:
            return self._exchange
        self._connection = await connected(self._to.transport_url)
        self._channel = await self._connection.channel(
            publisher_confirms=True, on_return_raises=True
        )
        self._exchange = await self._channel.declare_exchange(
            self._to.control_exchange, aio_pika.ExchangeType.TOPIC, durable=False, auto_delete=False
        )
        return self._exchange

    async def _bind(self, key: str) -> None:
        if key in self._bound:
            return
        assert self._channel is not None
        assert self._exchange is not None
        queue = await self._channel.declare_queue(key, durable=False, auto_delete=False)
        await queue.bind(self._exchange, routing_key=key)
        self._bound.add(key)


async def connected(transport_url: str) -> AbstractConnection:
    """Open a connection to the first broker in a transport URL that answers.

    Raises the error of the last broker if none answers, and ValueError for an invalid URL.
    """
    last: Exception | None = None
    for url in addresses(transport_url):
        try:
            return await aio_pika.connect(url, timeout=CONNECT_S)
        except (AMQPError, OSError, TimeoutError) as problem:
            last = problem
    assert last is not None
    raise last


def _amqp(message: BrokerMessage) -> aio_pika.Message:
    return aio_pika.Message(
        message.body,
        content_type="application/json",
        content_encoding="utf-8",
        message_id=message.id,
        delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
    )
