"""Names of topics and groups for the shell to complete; silence if the cluster does not answer at once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import click
from click.shell_completion import CompletionItem

_SECONDS: Final = 1.5  # a person is waiting with a finger on the key


def topics(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Topics whose name begins with *incomplete*."""
    from millstream.client.cluster import Client

    async def names(client: Client) -> list[str]:
        found = await client.metadata(None)
        return [name for name, topic in sorted(found.topics.items()) if not topic.internal]

    return _complete(ctx, incomplete, names)


def groups(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Groups whose id begins with *incomplete*."""
    from millstream.client.admin_groups import GroupAdmin
    from millstream.client.cluster import Client

    async def names(client: Client) -> list[str]:
        return [each.id for each in await GroupAdmin(client).groups()]

    return _complete(ctx, incomplete, names)


def _complete(
    ctx: click.Context, incomplete: str, names: Callable[..., Awaitable[list[str]]]
) -> list[CompletionItem]:
    from millstream.client.cluster import Client

    async def ask() -> list[str]:
        brokers = ctx.params.get("brokers") or "127.0.0.1:9092"
        async with asyncio.timeout(_SECONDS), Client(brokers, timeout=_SECONDS, patience=0) as client:
            return await names(client)

    try:
        found = asyncio.run(ask())
    except Exception:  # whatever it was, a prompt is no place to hear of it
        return []
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]
