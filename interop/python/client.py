"""Asks a server for everything in the small set, with the Python SDK, and prints one line of JSON a check.

With `--script` it does the steps of a file instead, and prints what comes of each. The server is a URL, or a command as a
list in JSON.
"""

import argparse
import json
import warnings
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx2
import steps
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ElicitResult, ResourceUpdatedNotification, ToolListChangedNotification

NOTE = "note://current"
PATIENCE = 10


class Heard:
    """What the server said unasked."""

    def __init__(self) -> None:
        self.updated = anyio.Event()
        self.listed = anyio.Event()

    async def hear(self, message: Any) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            self.updated.set()
        elif isinstance(message, ToolListChangedNotification):
            self.listed.set()


async def answer(_context: Any, _params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"name": "Ada"})


def text(result: Any) -> str:
    if result.is_error:
        raise AssertionError(f"the tool failed: {result.content[0].text}")
    return result.content[0].text


def same(found: Any, expected: Any) -> str:
    if found != expected:
        raise AssertionError(f"{found!r} instead of {expected!r}")
    return str(found)


class Checks:
    """One check a method; the name of the method is the name of the check."""

    def __init__(self, client: Client, heard: Heard) -> None:
        self.client = client
        self.heard = heard

    async def call(self, tool: str, arguments: dict[str, Any] | None = None, **more: Any) -> str:
        return text(await self.client.call_tool(tool, arguments or {}, **more))

    async def lists(self) -> str:
        tools = [tool.name for tool in (await self.client.list_tools()).tools]
        prompts = [prompt.name for prompt in (await self.client.list_prompts()).prompts]
        resources = [str(resource.uri) for resource in (await self.client.list_resources()).resources]
        assert "add" in tools and "wait" in tools, tools
        same(prompts, ["greet"])
        same(resources, [NOTE])
        return f"{len(tools)} tools"

    async def calls(self) -> str:
        return same(await self.call("add", {"a": 2, "b": 3}), "5")

    async def reads(self) -> str:
        await self.call("set_note", {"text": "first"})
        return same((await self.client.read_resource(NOTE)).contents[0].text, "first")

    async def prompts(self) -> str:
        got = await self.client.get_prompt("greet", {"name": "Ada"})
        return same(got.messages[0].content.text, "Greet Ada.")

    async def progress(self) -> str:
        seen: list[float] = []

        async def note(progress: float, _total: float | None, _message: str | None) -> None:
            seen.append(progress)

        same(await self.call("count_to", {"n": 3}, progress_callback=note), "counted to 3")
        return same(seen, [1, 2, 3])

    async def elicits(self) -> str:
        return same(await self.call("ask_name"), "Hello, Ada")

    async def elicits_aside(self) -> str:
        return same(await self.call("ask_aside"), "Hello, Ada")

    async def cancels(self) -> str:
        before = int(await self.call("cancelled_count"))
        with anyio.move_on_after(0.5):
            await self.call("wait")
            raise AssertionError("it did not wait")
        while int(await self.call("cancelled_count")) == before:
            await anyio.sleep(0.1)
        return f"{before} before, one more after"

    async def hears_updates(self) -> str:
        if self.modern:
            async with self.client.listen(resource_subscriptions=[NOTE]) as events:
                await self.call("set_note", {"text": "listened"})
                return repr(await anext(events))
        await self.client.subscribe_resource(NOTE)
        self.heard.updated = anyio.Event()
        await self.call("set_note", {"text": "subscribed"})
        await self.heard.updated.wait()
        return "resources/updated"

    async def hears_lists_change(self) -> str:
        if self.modern:
            async with self.client.listen(tools_list_changed=True) as events:
                await self.call("announce")
                return repr(await anext(events))
        await self.call("announce")
        await self.heard.listed.wait()
        return "tools/list_changed"

    async def mirrors_headers(self) -> str:
        return same(await self.call("route", {"region": "são paulo"}), "routed to são paulo")

    async def resumes(self) -> str:
        return same(await self.call("break_stream"), "resumed")

    @property
    def modern(self) -> bool:
        return self.client.protocol_version >= "2026"


BOTH = ["lists", "calls", "reads", "prompts", "progress", "elicits", "cancels", "hears_updates", "hears_lists_change"]
MODES = {"modern": "2026-07-28", "legacy": "legacy", "auto": "auto"}
ONLY = {"modern": ["mirrors_headers"], "legacy": ["elicits_aside", "resumes"]}


async def check(name: str, run: Callable[[], Awaitable[str]]) -> None:
    """Runs one check; whatever goes wrong is its detail."""
    ok, detail = False, f"nothing within {PATIENCE} s"
    try:
        with anyio.move_on_after(PATIENCE):
            detail = await run()
            ok = True
    except Exception as error:
        detail = reason(error)
    tell(name, ok, detail)


def reason(error: Exception) -> str:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def tell(name: str, ok: bool, detail: str) -> None:
    print(json.dumps({"check": name, "ok": ok, "detail": detail[:300]}), flush=True)


async def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("server", help="a URL, or a command as a list in JSON")
    arguments.add_argument("era", choices=list(MODES))
    arguments.add_argument("--token")
    arguments.add_argument("--only", default="", help="names of checks, with commas between them")
    arguments.add_argument("--script", help="a file with steps to do instead of checks")
    chosen = arguments.parse_args()
    heard = Heard()
    async with AsyncExitStack() as stack:
        if chosen.server.startswith("["):
            program, *words = json.loads(chosen.server)
            server = StdioServerParameters(command=program, args=words)
        else:
            headers = {"Authorization": f"Bearer {chosen.token}"} if chosen.token else {}
            timeout = httpx2.Timeout(30, read=300)
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=timeout))
            server = streamable_http_client(chosen.server, http_client=http)
        client = Client(
            server,
            mode=MODES[chosen.era],
            elicitation_callback=answer,
            sampling_callback=steps.sample if chosen.script else None,
            message_handler=heard.hear,
            cache=None,
        )

        # Entered here and not inside of a check, because its scopes have to end where they began.
        try:
            await stack.enter_async_context(client)
        except Exception as error:
            if chosen.script:
                return steps.tell("begins", steps.refused(error))
            return tell("connects", False, reason(error))
        if chosen.script:
            return await steps.run(client, json.loads(Path(chosen.script).read_text()))
        tell("connects", True, client.protocol_version)
        checks = Checks(client, heard)
        for name in chosen.only.split(",") if chosen.only else BOTH + ONLY[chosen.era]:
            await check(name, getattr(checks, name))


if __name__ == "__main__":
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    anyio.run(main)
