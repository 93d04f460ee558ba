// The AI SDK with the tools of an MCP server. The packages stand where it was installed, which is the first argument.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [installed, model, mcp, prompt] = process.argv.slice(2);
const require = createRequire(installed + "/");
const from = async (name) => import(pathToFileURL(require.resolve(name)).href);
const { generateText, stepCountIs, isStepCount } = await from("ai");
const { createMCPClient, experimental_createMCPClient } = await from("@ai-sdk/mcp");
const { createOpenAICompatible } = await from("@ai-sdk/openai-compatible");

const client = await (createMCPClient ?? experimental_createMCPClient)({ transport: { type: "http", url: mcp } });
const provider = createOpenAICompatible({ name: "probe", baseURL: model + "/v1", apiKey: "none" });
const stopWhen = (isStepCount ?? stepCountIs)(50);
const answer = await generateText({ model: provider("probe-model"), tools: await client.tools(), stopWhen, prompt });
console.log(answer.text);
await client.close();
