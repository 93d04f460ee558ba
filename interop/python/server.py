"""The small set that every server here offers, with the Python SDK, in both eras.

Prints `listening on URL` once it does. With `--token` it is a server protected by OAuth: it wants that bearer token, and
says so in its metadata. `GET /counts` tells what reached it.
"""

import argparse
import socket
from typing import Annotated, Any

import anyio
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp_types import EmptyResult, JSONRPCMessage, SubscribeRequestParams, ToolListChangedNotification
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import JSONResponse

NOTE = "note://current"


class State:
    """What outlives one request."""

    note = "empty"
    cancelled = 0
    listings = 0
    resumed = 0


class Name(BaseModel):
    """What `ask_name` asks for."""

    name: str


class StaticToken:
    """Knows one token."""

    def __init__(self, token: str, resource: str) -> None:
        self.token = token
        self.resource = resource

    async def verify_token(self, token: str) -> AccessToken | None:
        if token != self.token:
            return None
        return AccessToken(token=token, client_id="interop", scopes=["travel"], resource=self.resource)


class Events(EventStore):
    """Every event of every stream, so that a stream that broke can be resumed."""

    def __init__(self) -> None:
        self.events: list[tuple[StreamId, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        after = int(last_event_id)
        State.resumed += 1
        stream = self.events[after - 1][0]
        for at, (of, message) in enumerate(self.events[after:], after + 1):
            if of == stream and message is not None:
                await send_callback(EventMessage(message, str(at)))
        return stream


async def count_listings(context: Any, call_next: Any) -> Any:
    """Counts `tools/list` where the SDK dispatches it: after HTTP, before any handler."""
    if context.method == "tools/list":
        State.listings += 1
    return await call_next(context)


def ask() -> Elicit[Name]:
    """The question; the SDK sends it in the way of the caller's era."""
    return Elicit("What is your name?", Name)


def build(url: str, token: str | None) -> MCPServer:
    """The server; `url` is its own, for its OAuth metadata."""
    guard: dict[str, Any] = {}
    if token:
        guard["token_verifier"] = StaticToken(token, url)
        guard["auth"] = AuthSettings(
            issuer_url="https://issuer.example",
            resource_server_url=url,
            required_scopes=["travel"],
            validate_token_resource=True,
        )
    server = MCPServer("interop-python", log_level="ERROR", middleware=[count_listings], **guard)

    @server.tool()
    async def add(a: int, b: int) -> str:
        """Adds two numbers."""
        return str(a + b)

    @server.tool()
    async def count_to(n: int, context: Context) -> str:
        """Counts, and tells its progress."""
        for i in range(1, n + 1):
            await context.report_progress(i, n, f"{i} of {n}")
            await anyio.sleep(0.05)
        return f"counted to {n}"

    @server.tool()
    async def ask_name(name: Annotated[Name, Resolve(ask)]) -> str:
        """Asks for a name, and greets."""
        return f"Hello, {name.name}"

    @server.tool()
    async def ask_aside(context: Context) -> str:
        """Asks on the stream that belongs to no request: legacy only."""
        answer = await context.session.elicit_form("What is your name?", Name.model_json_schema())
        return f"Hello, {(answer.content or {}).get('name')}"

    @server.tool()
    async def wait(context: Context) -> str:
        """Waits for half a minute unless it is cancelled."""
        await context.report_progress(0, 1)
        try:
            await anyio.sleep(30)
        except anyio.get_cancelled_exc_class():
            State.cancelled += 1
            raise
        return "nobody cancelled"

    @server.tool()
    async def cancelled_count() -> str:
        """How many waits were cancelled."""
        return str(State.cancelled)

    @server.tool()
    async def set_note(text: str, context: Context) -> str:
        """Changes the note, and tells whoever subscribed."""
        State.note = text
        await context.notify_resource_updated(NOTE)
        await context.session.send_resource_updated(NOTE)
        return text

    @server.tool()
    async def announce(context: Context) -> str:
        """Says that the list of tools changed."""
        await context.notify_tools_changed()
        await context.session.send_notification(ToolListChangedNotification())
        return "announced"

    @server.tool()
    async def break_stream(context: Context) -> str:
        """Drops the stream of its own answer, and answers once the caller is back: legacy only."""
        before = State.resumed
        await context.close_sse_stream()
        for _ in range(50):
            if State.resumed > before:
                return "resumed"
            await anyio.sleep(0.1)
        return "nobody came back"

    @server.tool()
    async def route(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
        """Names the region, which clients mirror into a header."""
        return f"routed to {region}"

    @server.resource(NOTE)
    async def note() -> str:
        """A note that changes."""
        return State.note

    @server.prompt()
    async def greet(name: str) -> str:
        """A greeting."""
        return f"Greet {name}."

    @server.custom_route("/counts", methods=["GET"])
    async def counts(_: Request) -> JSONResponse:
        return JSONResponse({"tools/list": State.listings, "cancelled": State.cancelled})

    async def subscribe(_: Any, __: SubscribeRequestParams) -> EmptyResult:
        return EmptyResult()

    # The high-level server has no legacy subscriptions of its own.
    server._lowlevel_server.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
    return server


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--token")
    token = arguments.parse_args().token
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    app = build(url, token).streamable_http_app(event_store=Events(), retry_interval=100)
    print(f"listening on {url}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main()
