"""The OpenAI Agents SDK for Python with the tools of an MCP server."""

import asyncio
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI

model, mcp, prompt = sys.argv[1:]


async def main():
    set_tracing_disabled(True)
    chat = OpenAIChatCompletionsModel("probe-model", AsyncOpenAI(base_url=model + "/v1", api_key="none"))
    async with MCPServerStreamableHttp({"url": mcp}, name="probe") as server:
        agent = Agent("probe", model=chat, mcp_servers=[server])
        print((await Runner.run(agent, prompt, max_turns=50)).final_output)


asyncio.run(main())
