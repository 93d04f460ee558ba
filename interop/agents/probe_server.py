"""An MCP server whose tools return every kind of result, and that keeps what clients send to it.

It speaks Streamable HTTP in both eras and answers every request with plain JSON, so that nothing but the client under test decides
what becomes of a result. Each tool's result has marks (words that occur nowhere else); where they turn up tells what the client made of it.
"""

import base64
import json
import struct
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODERN = "2026-07-28"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]

# Marks: each stands in one place only.
TEXT = "TEXTMARK4711"
DATA = "DATAMARK0815"
FAULT = "FAULTMARK1234"
EMBEDDED = "EMBEDDEDMARK77"
TITLE = "TITLEMARK2580"
SCHEMA = "SCHEMAMARK9630"
INSTRUCTIONS = "INSTRUCTIONSMARK5"
LONG_CHARS = 200_000


def png():
    """A picture of 16 by 16 pixels: small, and real enough for clients that look into it."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes([x * 16, y * 16, 128] * 1) * 16 for y in range(16) for x in [y])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


PICTURE = base64.b64encode(png()).decode()


def rows(length):
    """Numbered rows of 50 characters, so that what is left of them tells where they were cut."""
    return [f"row {number:06d} " + "abcdefghij" * 4 for number in range(length // 52)]


def text(value):
    return {"type": "text", "text": value}


def schema(kind):
    return {"type": "object", "properties": {"value": {"type": kind, "description": SCHEMA}}, "required": ["value"]}


ROWS = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "string"}}}, "required": ["rows"]}
LONG_DATA = {"rows": rows(LONG_CHARS)}

# name: (what a listing says of its result, the result). The long ones are last: they may make a client forget what it had before.
CASES = {
    "give_text": (None, {"content": [text(TEXT)]}),
    "give_twice": (schema("string"), {"content": [text(json.dumps({"value": DATA}))], "structuredContent": {"value": DATA}}),
    "give_both": (schema("string"), {"content": [text(TEXT)], "structuredContent": {"value": DATA}}),
    "give_both_unpromised": (None, {"content": [text(TEXT)], "structuredContent": {"value": DATA}}),
    "give_data": (schema("string"), {"content": [], "structuredContent": {"value": DATA}}),
    "give_picture": (None, {"content": [{"type": "image", "data": PICTURE, "mimeType": "image/png"}]}),
    "give_embedded": (None, {"content": [{"type": "resource", "resource": {"uri": "probe://embedded", "mimeType": "text/plain", "text": EMBEDDED}}]}),
    "give_error": (None, {"content": [text(FAULT)], "isError": True}),
    "give_wrong": (schema("integer"), {"content": [text(TEXT)], "structuredContent": {"value": DATA}}),
    "give_size": (None, None),
    "give_long_text": (None, {"content": [text("\n".join(rows(LONG_CHARS)))]}),
    "give_long_data": (ROWS, {"content": [text(json.dumps(LONG_DATA))], "structuredContent": LONG_DATA}),
}


# What `give_size` is asked for, to find out from where on a client cuts.
SIZES = [4_000, 8_000, 10_000, 16_000, 20_000, 25_000, 30_000, 40_000, 50_000, 64_000, 100_000, 150_000]


def listing():
    tools = []
    for name, (output, _) in CASES.items():
        tool = {"name": name, "title": f"{TITLE} {name}", "description": f"Gives a result ({name}).", "inputSchema": {"type": "object", "properties": {}},
                "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}}
        if name == "give_size":
            tool["inputSchema"]["properties"]["characters"] = {"type": "integer"}
        if output:
            tool["outputSchema"] = output
        tools.append(tool)
    return tools


class ProbeServer:
    """Serves on a free port of 127.0.0.1; `messages` are all that came, each with its HTTP headers."""

    def __init__(self):
        self.messages = []
        self.lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                message = json.loads(body)
                with server.lock:
                    server.messages.append({"headers": dict(self.headers.items()), "message": message})
                answer = server.answer(message)
                self.reply(202 if answer is None else 200, answer)

            def do_GET(self):
                self.reply(405, None)

            do_DELETE = do_GET

            def reply(self, status, answer):
                body = b"" if answer is None else json.dumps(answer).encode()
                self.send_response(status)
                if body:
                    self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/mcp"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, message):
        if "id" not in message or "method" not in message:
            return None
        result = self.result(message["method"], message.get("params") or {})
        if result is None:
            return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "Method not found"}}
        if "io.modelcontextprotocol/protocolVersion" in (message.get("params") or {}).get("_meta", {}):
            result = {"resultType": "complete", **result}
            if message["method"] != "tools/call":
                result.update(ttlMs=0, cacheScope="private")
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}

    def result(self, method, params):
        info = {"name": "probe", "version": "1.0.0"}
        if method == "server/discover":
            return {"supportedVersions": [MODERN, *LEGACY], "capabilities": {"tools": {}}, "instructions": INSTRUCTIONS,
                    "_meta": {"io.modelcontextprotocol/serverInfo": info}}
        if method == "initialize":
            asked = params.get("protocolVersion")
            return {"protocolVersion": asked if asked in LEGACY else LEGACY[0], "capabilities": {"tools": {}}, "serverInfo": info, "instructions": INSTRUCTIONS}
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": listing()}
        if method == "tools/call" and params.get("name") == "give_size":
            return {"content": [text("\n".join(rows(int(params["arguments"]["characters"]))))]}
        if method == "tools/call" and params.get("name") in CASES:
            return CASES[params["name"]][1]
        return None
