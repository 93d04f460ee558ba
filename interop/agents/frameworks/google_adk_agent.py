"""Google's Agent Development Kit with the tools of an MCP server."""

import asyncio
import sys

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from google.genai import types

mcp, prompt = sys.argv[1:]


async def main():
    agent = LlmAgent(name="probe", model="gemini-2.5-flash", tools=[McpToolset(connection_params=StreamableHTTPConnectionParams(url=mcp))])
    runner = InMemoryRunner(agent=agent, app_name="probe")
    session = await runner.session_service.create_session(app_name="probe", user_id="user")
    message = types.Content(role="user", parts=[types.Part(text=prompt)])
    async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
        print(str(event.content)[:200])


asyncio.run(main())
