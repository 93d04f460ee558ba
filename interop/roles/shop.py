"""A small server as an operator has it: Python's SDK, and nothing about languages.

Over HTTP with `--http`, which prints `listening on URL`; else over pipes.
"""

import socket
import sys
from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

import anyio
import uvicorn
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from pydantic import BaseModel, Field

server = MCPServer("shop", log_level="ERROR")


class Orders(BaseModel):
    """What came in today."""

    timezone: str = Field(description="The time zone of the day")
    state: Literal["open", "shipped"] = Field(description="What has become of most of them")
    count: int = Field(description="How many there are")


class Seat(BaseModel):
    """A wish."""

    position: Literal["window", "aisle"]


@server.tool(title="Today's orders")
async def orders_today(tz: Annotated[str, Field(description="IANA time zone")] = "UTC") -> Orders:
    """Counts the orders of today."""
    datetime.now(ZoneInfo(tz))
    return Orders(timezone=tz, state="open", count=3)


@server.tool(title="Export")
async def export(pages: int, context: Context) -> str:
    """Exports all orders, page by page."""
    for page in range(1, pages + 1):
        await context.report_progress(page, pages, f"Fetched {page} of {pages} pages")
        await anyio.sleep(0.05)
    return "exported"


def ask_for_seat() -> Elicit[Seat]:
    """The question; the SDK sends it in the way of the caller's era."""
    return Elicit("Which seat?", Seat)


@server.tool(title="Book")
async def book(seat: Annotated[Seat, Resolve(ask_for_seat)]) -> str:
    """Books a seat."""
    return f"booked: {seat.position}"


def main() -> None:
    if "--http" not in sys.argv:
        server.run()
        return
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run(sockets=[listener])


if __name__ == "__main__":
    main()
