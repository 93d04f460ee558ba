// The TypeScript SDK 1.x as a client: legacy only.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { ANSWER, main } from './checks.mjs';
import { NOTE } from './small-set.mjs';
import { SAMPLED } from './steps.mjs';

await main({
  build(_era, heard, extensions) {
    const capabilities = { elicitation: { form: {} }, sampling: {}, extensions };
    const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities });
    client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLED);
    client.setRequestHandler(ElicitRequestSchema, () => ANSWER);
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => void heard.updated++);
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.listed++);
    return client;
  },
  over: { http: StreamableHTTPClientTransport, pipes: StdioClientTransport },
  // Only its transport over HTTP knows it.
  version: () => undefined,
  call: (client, params, options) => client.callTool(params, undefined, options),
  async subscribe(client, filter, run) {
    if (filter.resourceSubscriptions) await client.subscribeResource({ uri: NOTE });
    await run();
  },
});
