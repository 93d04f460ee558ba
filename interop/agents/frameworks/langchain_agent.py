"""LangChain with the tools of an MCP server, through langchain-mcp-adapters."""

import asyncio
import sys

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI

model, mcp, prompt = sys.argv[1:]


async def main():
    client = MultiServerMCPClient({"probe": {"transport": "streamable_http", "url": mcp}})
    chat = ChatOpenAI(model="probe-model", base_url=model + "/v1", api_key="none")
    agent = create_agent(chat, await client.get_tools())
    answer = await agent.ainvoke({"messages": [("user", prompt)]}, {"recursion_limit": 100})
    print(answer["messages"][-1].content)


asyncio.run(main())
