// The small set that every server here offers, without an SDK: each tool gets its arguments and a `caller`, which the
// servers make from what their SDK gives them.
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/v4';

export const NOTE = 'note://current';

export const QUESTION = {
  mode: 'form',
  message: 'What is your name?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};

/** What outlives one request. */
export const state = { note: 'empty', cancelled: 0, resumed: 0 };

export const tools = {
  add: {
    description: 'Adds two numbers.',
    shape: { a: z.number(), b: z.number() },
    run: ({ a, b }) => String(a + b),
  },
  count_to: {
    description: 'Counts, and tells its progress.',
    shape: { n: z.number() },
    async run({ n }, caller) {
      for (let i = 1; i <= n; i++) {
        await caller.progress(i, n, `${i} of ${n}`);
        await sleep(50);
      }
      return `counted to ${n}`;
    },
  },
  ask_name: {
    description: 'Asks for a name, and greets.',
    shape: {},
    async run(_, caller) {
      const answer = await caller.elicit();
      // Modern: the question is the result, and the call comes again with the answer.
      return answer.resultType ? answer : `Hello, ${answer.content?.name}`;
    },
  },
  ask_aside: {
    description: 'Asks on the stream that belongs to no request: legacy only.',
    shape: {},
    run: async (_, caller) => `Hello, ${(await caller.elicitAside()).content?.name}`,
  },
  wait: {
    description: 'Waits for half a minute unless it is cancelled.',
    shape: {},
    async run(_, caller) {
      await caller.progress(0, 1);
      try {
        await sleep(30_000, undefined, { signal: caller.signal });
      } catch (error) {
        state.cancelled += 1;
        throw error;
      }
      return 'nobody cancelled';
    },
  },
  cancelled_count: {
    description: 'How many waits were cancelled.',
    shape: {},
    run: () => String(state.cancelled),
  },
  set_note: {
    description: 'Changes the note, and tells whoever subscribed.',
    shape: { text: z.string() },
    async run({ text }, caller) {
      state.note = text;
      await caller.updated();
      return text;
    },
  },
  announce: {
    description: 'Says that the list of tools changed.',
    shape: {},
    async run(_, caller) {
      await caller.listChanged();
      return 'announced';
    },
  },
  break_stream: {
    description: 'Drops the stream of its own answer, and answers once the caller is back: legacy only.',
    shape: {},
    async run(_, caller) {
      const before = state.resumed;
      caller.breakStream();
      for (let i = 0; i < 50 && state.resumed === before; i++) await sleep(100);
      return state.resumed > before ? 'resumed' : 'nobody came back';
    },
  },
  route: {
    description: 'Names the region, which clients mirror into a header.',
    shape: { region: z.string().meta({ 'x-mcp-header': 'Region' }) },
    run: ({ region }) => `routed to ${region}`,
  },
};

/** Every event of every stream, so that a stream that broke can be resumed. */
export class Events {
  #events = [];

  async storeEvent(stream, message) {
    return String(this.#events.push({ stream, message }));
  }

  async getStreamIdForEventId(id) {
    return this.#events[Number(id) - 1]?.stream;
  }

  async replayEventsAfter(id, { send }) {
    const after = Number(id);
    const { stream } = this.#events[after - 1];
    state.resumed += 1;
    for (const [at, event] of this.#events.entries()) {
      const real = Object.keys(event.message).length > 0;
      if (at >= after && event.stream === stream && real) await send(String(at + 1), event.message);
    }
    return stream;
  }
}

/** Registers the set with a server of either SDK; `callerOf` makes the caller from what a handler gets. */
export function register(server, { wrap, callerOf }) {
  for (const [name, tool] of Object.entries(tools)) {
    const { description, shape } = tool;
    server.registerTool(name, { description, inputSchema: wrap(shape) }, async (given, context) => {
      const result = await tool.run(given, callerOf(context));
      return typeof result === 'string' ? { content: [{ type: 'text', text: result }] } : result;
    });
  }
  server.registerResource('note', NOTE, { description: 'A note that changes.' }, async () => ({
    contents: [{ uri: NOTE, text: state.note }],
  }));
  const greet = { description: 'A greeting.', argsSchema: wrap({ name: z.string() }) };
  server.registerPrompt('greet', greet, async ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }],
  }));
}

/** Listens on a free port, and says where. */
export function listen(server, then) {
  server.listen(0, '127.0.0.1', () => {
    const url = `http://127.0.0.1:${server.address().port}/mcp`;
    then?.(url);
    console.log(`listening on ${url}`);
  });
}
