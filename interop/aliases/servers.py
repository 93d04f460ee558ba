"""Web servers that Python programs run on, each with one trivial handler that tells how it was reached.

python servers.py KIND    prints its address, then serves until it is ended
"""

import asyncio
import json
import logging
import socket
import sys
import threading
import time

TOOLS = {
    "tools": [
        {
            "name": "sql",
            "inputSchema": {
                "type": "object",
                "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            },
        }
    ]
}
# How often a handler ran. The gateway's own listings do not count.
runs = {"mcp": 0, "admin": 0}


def answer(handler, method, body, header):
    """The body of an answer: what this server takes the request for. `header` looks one up by its name."""
    if handler == "count":
        return json.dumps(runs).encode()
    try:
        message = json.loads(body)
        params = message.get("params") or {}
        rpc, name = message.get("method"), params.get("name")
        region = (params.get("arguments") or {}).get("region")
    except (ValueError, AttributeError):
        rpc, name, region = None, None, None
    if rpc == "tools/list":
        return json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": TOOLS}).encode()
    runs[handler] += 1
    seen = {
        "handler": handler,
        "method": method,
        "rpc": rpc,
        "name": name,
        "region": region,
        "mcp-name": header("Mcp-Name"),
    }
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": seen}).encode()


HANDLERS = ["mcp", "admin", "count"]
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE"]


def starlette():
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    def endpoint(handler):
        async def run(request):
            body = await request.body()
            text = answer(handler, request.method, body, request.headers.get)
            return Response(text, media_type="application/json", headers={"X-Handler": handler})

        return run

    return Starlette(routes=[Route(f"/{h}", endpoint(h), methods=METHODS) for h in HANDLERS])


def flask():
    from flask import Flask, Response, request

    app = Flask("aliases")

    def endpoint(handler):
        def run():
            text = answer(handler, request.method, request.get_data(), request.headers.get)
            return Response(text, mimetype="application/json", headers={"X-Handler": handler})

        return run

    for handler in HANDLERS:
        app.add_url_rule(f"/{handler}", handler, endpoint(handler), methods=METHODS)
    return app


def uvicorn(port, http):
    import uvicorn

    uvicorn.run(starlette(), host="127.0.0.1", port=port, http=http, log_level="critical", lifespan="off")


def hypercorn(port):
    from hypercorn.asyncio import serve
    from hypercorn.config import Config

    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.errorlog = None
    asyncio.run(serve(starlette(), config))


def werkzeug(port):
    from werkzeug.serving import run_simple

    run_simple("127.0.0.1", port, flask(), threaded=True)


def gunicorn(port):
    from gunicorn.app.base import BaseApplication

    class Application(BaseApplication):
        def load_config(self):
            for name, value in {"bind": f"127.0.0.1:{port}", "workers": 1, "threads": 8, "loglevel": "critical"}.items():
                self.cfg.set(name, value)

        def load(self):
            return flask()

    Application().run()


def waitress(port):
    from waitress import serve

    serve(flask(), host="127.0.0.1", port=port, threads=8)


def wsgiref(port):
    from socketserver import ThreadingMixIn
    from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_):
            pass

    class Threads(ThreadingMixIn, WSGIServer):
        daemon_threads = True

    make_server("127.0.0.1", port, flask(), Threads, Quiet).serve_forever()


def aiohttp(port):
    from aiohttp import web

    def endpoint(handler):
        async def run(request):
            text = answer(handler, request.method, await request.read(), request.headers.get)
            return web.Response(body=text, content_type="application/json", headers={"X-Handler": handler})

        return run

    app = web.Application()
    for handler in HANDLERS:
        app.router.add_route("*", f"/{handler}", endpoint(handler))
    web.run_app(app, host="127.0.0.1", port=port, print=None, access_log=None)


KINDS = {
    "starlette-uvicorn-h11": lambda port: uvicorn(port, "h11"),
    "starlette-uvicorn-httptools": lambda port: uvicorn(port, "httptools"),
    "starlette-hypercorn": hypercorn,
    "flask-werkzeug": werkzeug,
    "flask-gunicorn": gunicorn,
    "flask-waitress": waitress,
    "flask-wsgiref": wsgiref,
    "aiohttp": aiohttp,
}


def announce(port):
    """Prints the address once somebody listens there."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.02)
    print(f"http://127.0.0.1:{port}/mcp", flush=True)


def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    logging.getLogger("waitress").setLevel(logging.CRITICAL)
    threading.Thread(target=announce, args=(port,), daemon=True).start()
    KINDS[sys.argv[1]](port)


if __name__ == "__main__":
    main()
