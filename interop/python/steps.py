"""A script of steps, done with the Python SDK: one line of JSON a step, with what came of it.

What came of a step is `{"result": …}` or `{"error": …}` as the SDK has it, so that it can be compared with what comes of
the same step in another way.
"""

import json
from typing import Any

import anyio
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CreateMessageResult, TextContent

PATIENCE = 30


async def sample(_context: Any, _params: Any) -> CreateMessageResult:
    """What a model would say."""
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="Sampled."), model="none")


def plain(result: Any) -> Any:
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


def begun(client: Client) -> dict[str, Any]:
    """What a server says of itself. A pinned client has not asked."""
    said = {"version": client.protocol_version, "capabilities": plain(client.server_capabilities)}
    if client.server_info:
        said |= {"server": plain(client.server_info), "instructions": client.instructions}
    return said


async def lists(client: Client, language: str | None = None) -> dict[str, Any]:
    """Everything that the server declares, in a language; its tools in any case."""
    declared = client.server_capabilities
    meta: Any = {"io.modelcontextprotocol/acceptLanguage": language} if language else None
    all_of_it = {"tools": plain(await client.list_tools(meta=meta))}
    if declared.prompts:
        all_of_it["prompts"] = plain(await client.list_prompts(meta=meta))
    if declared.resources:
        all_of_it["resources"] = plain(await client.list_resources(meta=meta))
        all_of_it["templates"] = plain(await client.list_resource_templates(meta=meta))
    return all_of_it


async def calls(client: Client, tool: str, arguments: dict[str, Any], context: Any = None) -> dict[str, Any]:
    seen: list[Any] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append([progress, total, message])

    meta = {"io.modelcontextprotocol/clientContext": context} if context else None
    result = await client.call_tool(tool, arguments, progress_callback=note, meta=meta)
    return {**plain(result), "progress": seen}


async def done(client: Client, step: dict[str, Any]) -> Any:
    given = step.get("arguments", {})
    match step["do"]:
        case "lists":
            return await lists(client, step.get("language"))
        case "calls":
            return await calls(client, step["what"], given, step.get("context"))
        case "prompts":
            return plain(await client.get_prompt(step["what"], given))
        case "reads":
            return plain(await client.read_resource(step["what"]))
        case unknown:
            raise ValueError(f"there is no step {unknown!r}")


def refused(error: BaseException) -> dict[str, Any]:
    """An error of the protocol as it came; any other by its name and words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        return {"error": plain(error.error)}
    return {"error": {"kind": type(error).__name__, "message": str(error)}}


def tell(step: str, outcome: Any) -> None:
    print(json.dumps({"step": step, "outcome": outcome}), flush=True)


async def run(client: Client, steps: list[dict[str, Any]]) -> None:
    tell("begins", {"result": begun(client)})
    for step in steps:
        outcome: Any = {"error": {"kind": "silence", "message": f"nothing within {PATIENCE} s"}}
        try:
            with anyio.move_on_after(PATIENCE):
                outcome = {"result": await done(client, step)}
        except Exception as error:
            outcome = refused(error)
        tell(step["name"], outcome)
