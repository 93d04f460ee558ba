// Asks a server for everything in the small set, and prints one line of JSON a check; or does the steps of a script. The
// clients of both SDKs bring a `way` to do what their SDKs do differently.
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { NOTE } from './small-set.mjs';
import { runScript } from './steps.mjs';

const PATIENCE = 10_000;

const BOTH = ['lists', 'calls', 'reads', 'prompts', 'progress', 'elicits', 'cancels', 'hears_updates', 'hears_lists_change'];
const ONLY = { modern: ['mirrors_headers'], legacy: ['elicits_aside', 'resumes'] };

export const ANSWER = { action: 'accept', content: { name: 'Ada' } };

function same(found, expected) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${a} instead of ${b}`);
  return a;
}

async function until(true_) {
  while (!(await true_())) await sleep(50);
}

function checks(client, way, heard) {
  const call = async (name, given = {}, options = {}) => {
    const result = await way.call(client, { name, arguments: given }, options);
    if (result.isError) throw new Error(`the tool failed: ${result.content[0].text}`);
    return result.content[0].text;
  };
  return {
    async lists() {
      const tools = (await client.listTools()).tools.map((tool) => tool.name);
      if (!tools.includes('add') || !tools.includes('wait')) throw new Error(`tools: ${tools}`);
      same((await client.listPrompts()).prompts.map((prompt) => prompt.name), ['greet']);
      same((await client.listResources()).resources.map((resource) => resource.uri), [NOTE]);
      return `${tools.length} tools`;
    },
    calls: async () => same(await call('add', { a: 2, b: 3 }), '5'),
    async reads() {
      await call('set_note', { text: 'first' });
      return same((await client.readResource({ uri: NOTE })).contents[0].text, 'first');
    },
    async prompts() {
      const got = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } });
      return same(got.messages[0].content.text, 'Greet Ada.');
    },
    async progress() {
      const seen = [];
      const onprogress = ({ progress }) => seen.push(progress);
      same(await call('count_to', { n: 3 }, { onprogress }), 'counted to 3');
      return same(seen, [1, 2, 3]);
    },
    elicits: async () => same(await call('ask_name'), 'Hello, Ada'),
    elicits_aside: async () => same(await call('ask_aside'), 'Hello, Ada'),
    async cancels() {
      const before = Number(await call('cancelled_count'));
      const stop = new AbortController();
      const waiting = call('wait', {}, { signal: stop.signal }).then(() => 'it did not wait', () => 'stopped');
      await sleep(500);
      stop.abort('enough');
      same(await waiting, 'stopped');
      await until(async () => Number(await call('cancelled_count')) > before);
      return `${before} before, one more after`;
    },
    async hears_updates() {
      await way.subscribe(client, { resourceSubscriptions: [NOTE] }, async () => {
        heard.updated = 0;
        await call('set_note', { text: 'changed' });
        await until(() => heard.updated > 0);
      });
      return 'resources/updated';
    },
    async hears_lists_change() {
      await way.subscribe(client, { toolsListChanged: true }, async () => {
        await call('announce');
        await until(() => heard.listed > 0);
      });
      return 'tools/list_changed';
    },
    mirrors_headers: async () => same(await call('route', { region: 'são paulo' }), 'routed to são paulo'),
    resumes: async () => same(await call('break_stream'), 'resumed'),
  };
}

function tell(check, ok, detail) {
  console.log(JSON.stringify({ check, ok, detail: String(detail).slice(0, 300) }));
}

async function check(name, run) {
  const late = sleep(PATIENCE, undefined, { ref: false }).then(() => {
    throw new Error(`nothing within ${PATIENCE} ms`);
  });
  try {
    tell(name, true, await Promise.race([run(), late]));
    return true;
  } catch (error) {
    tell(name, false, error?.message ?? error);
    return false;
  }
}

/** The way to a server: its URL, or its command as a list in JSON. */
function transportTo(server, over, token) {
  if (server.startsWith('[')) {
    const [command, ...args] = JSON.parse(server);
    return new over.pipes({ command, args });
  }
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  return new over.http(new URL(server), { requestInit: { headers } });
}

/**
 * Reads the arguments `SERVER ERA [--token TOKEN] [--only CHECKS] [--script FILE] [--extensions JSON]`, and runs what they
 * ask for.
 */
export async function main(way) {
  const text = { type: 'string' };
  const options = { token: text, only: text, script: text, extensions: text };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [server, era] = positionals;
  const heard = { updated: 0, listed: 0 };
  const extensions = values.extensions && JSON.parse(values.extensions);
  const client = way.build(era, heard, extensions);
  const transport = transportTo(server, way.over, values.token);
  if (values.script) {
    await runScript(client, transport, way, values.script);
    process.exit(0);
  }
  const connected = await check('connects', async () => {
    await client.connect(transport);
    return 'connected';
  });
  if (connected) {
    const all = checks(client, way, heard);
    for (const name of values.only?.split(',') ?? [...BOTH, ...ONLY[era]]) await check(name, all[name]);
  }
  // Whatever is still open must not keep the process.
  process.exit(0);
}
