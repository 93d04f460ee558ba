// The TypeScript SDK 1.x as a client: legacy only.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitRequestSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { ANSWER, main } from './checks.mjs';
import { NOTE } from './small-set.mjs';

await main({
  build(_era, heard) {
    const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler(ElicitRequestSchema, () => ANSWER);
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => void heard.updated++);
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.listed++);
    return client;
  },
  connect: (client, url, options) => client.connect(new StreamableHTTPClientTransport(url, options)),
  call: (client, params, options) => client.callTool(params, undefined, options),
  async subscribe(client, filter, run) {
    if (filter.resourceSubscriptions) await client.subscribeResource({ uri: NOTE });
    await run();
  },
});
