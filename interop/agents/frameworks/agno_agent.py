"""Agno with the tools of an MCP server."""

import asyncio
import sys

from agno.agent import Agent
from agno.models.openai.like import OpenAILike
from agno.tools.mcp import MCPTools

model, mcp, prompt = sys.argv[1:]


async def main():
    async with MCPTools(url=mcp, transport="streamable-http") as tools:
        agent = Agent(model=OpenAILike(id="probe-model", base_url=model + "/v1", api_key="none"), tools=[tools], telemetry=False)
        print((await agent.arun(prompt)).content)


asyncio.run(main())
