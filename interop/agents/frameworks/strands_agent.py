"""Strands Agents with the tools of an MCP server."""

import sys

from strands import Agent
from strands.models.openai import OpenAIModel
from strands.tools.mcp import MCPClient

model, mcp, prompt = sys.argv[1:]

with MCPClient(url=mcp) as client:
    chat = OpenAIModel(client_args={"base_url": model + "/v1", "api_key": "none"}, model_id="probe-model")
    print(Agent(model=chat, tools=client.list_tools_sync())(prompt))
