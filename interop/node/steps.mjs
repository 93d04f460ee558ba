// A script of steps: one line of JSON a step, with what came of it. That is `{"result": …}` or `{"error": …}` as the SDK
// has it, so that it can be compared with what comes of the same step in another way.
import { readFile } from 'node:fs/promises';

const PATIENCE = 30_000;

/** What a model would say. */
export const SAMPLED = { role: 'assistant', content: { type: 'text', text: 'Sampled.' }, model: 'none' };

function tell(step, outcome) {
  console.log(JSON.stringify({ step, outcome }));
}

/** An error of the protocol as it came; any other by its name and words. */
function refused(error) {
  const { name, code, message, data } = error;
  return { error: { kind: name, code, message, data } };
}

/** Everything that the server declares; its tools in any case. */
async function lists(client) {
  const declared = client.getServerCapabilities() ?? {};
  const all = { tools: await client.listTools() };
  if (declared.prompts) all.prompts = await client.listPrompts();
  if (declared.resources) {
    all.resources = await client.listResources();
    all.templates = await client.listResourceTemplates();
  }
  return all;
}

async function done(client, way, { do: verb, what, arguments: given = {} }) {
  // The SDKs forget who waits for progress with the answer, so one that comes right before it may be lost on the way.
  const seen = [];
  const onprogress = ({ progress, total, message }) => progress !== total && seen.push([progress, total, message]);
  switch (verb) {
    case 'lists':
      return lists(client);
    case 'calls':
      return { ...(await way.call(client, { name: what, arguments: given }, { onprogress, timeout: PATIENCE })), progress: seen };
    case 'prompts':
      return client.getPrompt({ name: what, arguments: given });
    case 'reads':
      return client.readResource({ uri: what });
    default:
      throw new Error(`there is no step ${verb}`);
  }
}

/** Does the steps of a file, and closes the connection. */
export async function runScript(client, transport, way, file) {
  try {
    await client.connect(transport);
  } catch (error) {
    return tell('begins', refused(error));
  }
  tell('begins', {
    result: {
      version: way.version(client),
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    },
  });
  for (const step of JSON.parse(await readFile(file, 'utf8'))) {
    try {
      tell(step.name, { result: await done(client, way, step) });
    } catch (error) {
      tell(step.name, refused(error));
    }
  }
  await client.close();
}
