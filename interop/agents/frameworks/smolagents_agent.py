"""smolagents with the tools of an MCP server."""

import sys

from smolagents import MCPClient, OpenAIServerModel, ToolCallingAgent

model, mcp, prompt = sys.argv[1:]

with MCPClient({"url": mcp, "transport": "streamable-http"}) as tools:
    chat = OpenAIServerModel("probe-model", api_base=model + "/v1", api_key="none")
    print(ToolCallingAgent(tools=tools, model=chat, max_steps=20).run(prompt))
