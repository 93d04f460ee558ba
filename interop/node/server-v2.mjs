// The small set with the TypeScript SDK 2.x: modern, and legacy with sessions beside it. With `--token` it is a server
// protected by OAuth: it wants that bearer token, and says so in its metadata.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  getOAuthProtectedResourceMetadataUrl,
  inputRequired,
  isLegacyRequest,
  McpServer,
  OAuthError,
  OAuthErrorCode,
  oauthMetadataResponse,
  requireBearerAuth,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import * as z from 'zod/v4';
import { Events, listen, NOTE, QUESTION, register } from './small-set.mjs';

const { token } = parseArgs({ options: { token: { type: 'string' } } }).values;

function build({ era }) {
  const capabilities = { resources: { subscribe: true, listChanged: true }, tools: { listChanged: true } };
  const server = new McpServer({ name: 'interop-ts-2', version: '1.0.0' }, { capabilities });
  const legacy = era === 'legacy';
  register(server, {
    wrap: (shape) => z.object(shape),
    callerOf: ({ mcpReq, http }) => ({
      signal: mcpReq.signal,
      async progress(progress, total, message) {
        const progressToken = mcpReq._meta?.progressToken;
        if (progressToken === undefined) return;
        const params = { progressToken, progress, total, message };
        await mcpReq.notify({ method: 'notifications/progress', params });
      },
      elicit: () =>
        legacy
          ? mcpReq.elicitInput(QUESTION)
          : (mcpReq.inputResponses?.name ??
            inputRequired({ inputRequests: { name: inputRequired.elicit(QUESTION) }, requestState: 'asked' })),
      elicitAside: () => server.server.elicitInput(QUESTION),
      updated: () =>
        legacy ? server.server.sendResourceUpdated({ uri: NOTE }) : modern.notify.resourceUpdated(NOTE),
      listChanged: () => (legacy ? server.sendToolListChanged() : modern.notify.toolsChanged()),
      breakStream: () => http.closeSSE(),
    }),
  });
  if (legacy) server.server.setRequestHandler('resources/subscribe', () => ({}));
  return server;
}

const modern = createMcpHandler(build, { legacy: 'reject' });
const sessions = new Map();

async function serveLegacy(request, options) {
  const known = sessions.get(request.headers.get('mcp-session-id'));
  if (known) return known.handleRequest(request, options);
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    eventStore: new Events(),
    retryInterval: 100,
  });
  await build({ era: 'legacy' }).connect(transport);
  return transport.handleRequest(request, options);
}

let guard = async () => undefined;

function protect(url) {
  const issuer = 'https://issuer.example';
  const oauthMetadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['code'],
  };
  const resourceServerUrl = new URL(url);
  const verifier = {
    async verifyAccessToken(given) {
      if (given !== token) throw new OAuthError(OAuthErrorCode.InvalidToken, 'unknown token');
      const expiresAt = Math.floor(Date.now() / 1000) + 3600;
      return { token, clientId: 'interop', scopes: ['travel'], expiresAt };
    },
  };
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resourceServerUrl);
  const gate = requireBearerAuth({ verifier, requiredScopes: ['travel'], resourceMetadataUrl });
  guard = async (request) => {
    const metadata = oauthMetadataResponse(request, { oauthMetadata, resourceServerUrl, scopesSupported: ['travel'] });
    if (metadata) return metadata;
    const allowed = await gate(request);
    return allowed instanceof Response ? allowed : undefined;
  };
}

async function fetch(request, options) {
  const refused = await guard(request);
  if (refused) return refused;
  return (await isLegacyRequest(request)) ? serveLegacy(request, options) : modern.fetch(request, options);
}

listen(createServer(toNodeHandler({ fetch })), token && protect);
