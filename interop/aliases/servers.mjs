// Web servers that Node.js programs run on, each with one trivial handler that tells how it was reached.
//
// node servers.mjs KIND    prints its address, then serves until it is ended

import http from "node:http";
import express from "express";

const TOOLS = {
  tools: [
    {
      name: "sql",
      inputSchema: { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } },
    },
  ],
};
// How often a handler ran. The gateway's own listings do not count.
const runs = { mcp: 0, admin: 0 };

async function handle(handler, request, response) {
  const pieces = [];
  try {
    for await (const piece of request) pieces.push(piece);
  } catch {
    return;
  }
  const say = (value) => {
    response.writeHead(200, { "Content-Type": "application/json", "X-Handler": handler });
    response.end(JSON.stringify(value));
  };
  if (handler === "count") return say(runs);
  let message = {};
  try {
    message = JSON.parse(Buffer.concat(pieces).toString()) ?? {};
  } catch {}
  if (message.method === "tools/list") return say({ jsonrpc: "2.0", id: message.id, result: TOOLS });
  runs[handler] += 1;
  const seen = {
    handler,
    method: request.method,
    rpc: message.method ?? null,
    name: message.params?.name ?? null,
    region: message.params?.arguments?.region ?? null,
    "mcp-name": request.headers["mcp-name"] ?? null,
  };
  say({ jsonrpc: "2.0", id: 1, result: seen });
}

const HANDLERS = ["mcp", "admin", "count"];

// A router of its own, as many small servers have.
function byUrl() {
  return http.createServer((request, response) => {
    let path = "";
    try {
      path = new URL(request.url, "http://localhost").pathname;
    } catch {}
    const handler = HANDLERS.find((name) => path === `/${name}`);
    if (handler) return handle(handler, request, response);
    response.writeHead(404).end();
  });
}

function byExpress() {
  const app = express();
  for (const handler of HANDLERS) app.all(`/${handler}`, (request, response) => handle(handler, request, response));
  return http.createServer(app);
}

const kinds = { "node-http": byUrl, express: byExpress };
const server = kinds[process.argv[2]]();
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
