// The OpenAI Agents SDK for JavaScript with the tools of an MCP server. The packages stand where it was installed, which is the first argument.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [installed, model, mcp, prompt] = process.argv.slice(2);
const require = createRequire(installed + "/");
const from = async (name) => import(pathToFileURL(require.resolve(name)).href);
const { Agent, MCPServerStreamableHttp, OpenAIChatCompletionsModel, run, setTracingDisabled } = (await from("@openai/agents")).default ?? (await from("@openai/agents"));
const { OpenAI } = await from("openai");

setTracingDisabled(true);
const server = new MCPServerStreamableHttp({ url: mcp, name: "probe" });
await server.connect();
const chat = new OpenAIChatCompletionsModel(new OpenAI({ baseURL: model + "/v1", apiKey: "none" }), "probe-model");
const agent = new Agent({ name: "probe", model: chat, mcpServers: [server] });
console.log((await run(agent, prompt, { maxTurns: 50 })).finalOutput);
await server.close();
