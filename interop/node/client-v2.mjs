// The TypeScript SDK 2.x as a client, in both eras.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { ANSWER, main } from './checks.mjs';
import { NOTE } from './small-set.mjs';
import { SAMPLED } from './steps.mjs';

let modern;

await main({
  build(era, heard, extensions) {
    modern = era === 'modern';
    const options = {
      capabilities: { elicitation: { form: {} }, sampling: {}, extensions },
      versionNegotiation: { mode: modern ? { pin: '2026-07-28' } : era },
    };
    const client = new Client({ name: 'interop', version: '1.0.0' }, options);
    client.setRequestHandler('elicitation/create', () => ANSWER);
    client.setRequestHandler('sampling/createMessage', () => SAMPLED);
    client.setNotificationHandler('notifications/resources/updated', () => void heard.updated++);
    client.setNotificationHandler('notifications/tools/list_changed', () => void heard.listed++);
    return client;
  },
  over: { http: StreamableHTTPClientTransport, pipes: StdioClientTransport },
  version: (client) => client.getNegotiatedProtocolVersion(),
  call: (client, params, options) => client.callTool(params, options),
  async subscribe(client, filter, run) {
    if (modern) {
      const subscription = await client.listen(filter);
      await run();
      return subscription.close();
    }
    if (filter.resourceSubscriptions) await client.subscribeResource({ uri: NOTE });
    await run();
  },
});
