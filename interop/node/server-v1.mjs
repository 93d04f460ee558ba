// The small set with the TypeScript SDK 1.x: legacy only, with sessions.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ElicitResultSchema, SubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { Events, listen, NOTE, QUESTION, register } from './small-set.mjs';

function build() {
  const capabilities = { resources: { subscribe: true, listChanged: true }, tools: { listChanged: true } };
  const server = new McpServer({ name: 'interop-ts-1', version: '1.0.0' }, { capabilities });
  register(server, {
    wrap: (shape) => shape,
    callerOf: (extra) => ({
      signal: extra.signal,
      async progress(progress, total, message) {
        const progressToken = extra._meta?.progressToken;
        if (progressToken === undefined) return;
        const params = { progressToken, progress, total, message };
        await extra.sendNotification({ method: 'notifications/progress', params });
      },
      elicit: () => extra.sendRequest({ method: 'elicitation/create', params: QUESTION }, ElicitResultSchema),
      elicitAside: () => server.server.elicitInput(QUESTION),
      updated: () => server.server.sendResourceUpdated({ uri: NOTE }),
      listChanged: () => server.sendToolListChanged(),
      breakStream: () => extra.closeSSEStream(),
    }),
  });
  server.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  return server;
}

const sessions = new Map();

async function transportOf(request) {
  const known = sessions.get(request.headers['mcp-session-id']);
  if (known) return known;
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    eventStore: new Events(),
    retryInterval: 100,
  });
  await build().connect(transport);
  return transport;
}

listen(createServer(async (request, response) => (await transportOf(request)).handleRequest(request, response)));
