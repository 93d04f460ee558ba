"""mcp-use for Python."""

import asyncio
import sys

from langchain_openai import ChatOpenAI
from mcp_use import MCPAgent, MCPClient

model, mcp, prompt = sys.argv[1:]


async def main():
    client = MCPClient({"mcpServers": {"probe": {"url": mcp}}})
    chat = ChatOpenAI(model="probe-model", base_url=model + "/v1", api_key="none")
    print(await MCPAgent(llm=chat, client=client, max_steps=50).run(prompt))
    await client.close_all_sessions()


asyncio.run(main())
