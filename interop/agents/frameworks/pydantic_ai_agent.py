"""Pydantic AI with the tools of an MCP server, as its documentation shows it."""

import asyncio
import sys

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

model, mcp, prompt = sys.argv[1:]


async def main():
    chat = OpenAIChatModel("probe-model", provider=OpenAIProvider(base_url=model + "/v1", api_key="none"))
    agent = Agent(chat, toolsets=[MCPToolset(mcp)])
    async with agent:
        print((await agent.run(prompt)).output)


asyncio.run(main())
