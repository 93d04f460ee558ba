"""Weather that is made up, over stdio: one JSON-RPC message a line, without dependencies."""

import json
import os
import sys

VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
CITIES = {"Montevideo": (18, "clear"), "Tokyo": (11, "rain"), "Cairo": (24, "clear"), "Berlin": (6, "fog")}
SKIES = ["clear", "cloudy", "rain", "fog"]
CITY = {"city": {"type": "string", "description": "The name of a city", "enum": sorted(CITIES)}}
TOOLS = [
    {
        "name": "current_weather",
        "title": "Current weather",
        "description": "Tells the weather of a city now",
        "inputSchema": {"type": "object", "properties": CITY, "required": ["city"]},
    },
    {
        "name": "forecast",
        "title": "Forecast",
        "description": "Tells the weather of a city in the next days",
        "inputSchema": {"type": "object", "properties": CITY, "required": ["city"]},
    },
]


class Refused(Exception):
    """A request that gets an error: its code and what is wrong."""


def days():
    try:
        return max(1, min(7, int(float(os.environ.get("WEATHER_DAYS", "3")))))
    except ValueError:
        return 3


def temperature(celsius):
    if os.environ.get("WEATHER_UNITS") == "imperial":
        return f"{round(celsius * 9 / 5 + 32)} °F"
    return f"{celsius} °C"


def call(name, arguments):
    if name not in {tool["name"] for tool in TOOLS}:
        raise Refused(-32602, f"unknown tool: {name}")
    city = arguments.get("city") if isinstance(arguments, dict) else None
    if not isinstance(city, str) or city not in CITIES:
        return {"content": [{"type": "text", "text": f"Unknown city; known are {', '.join(CITIES)}"}], "isError": True}
    celsius, sky = CITIES[city]
    if name == "current_weather":
        text = f"{city}: {temperature(celsius)}, {sky}"
    else:
        first = SKIES.index(sky)
        lines = (
            f"day {day + 1}: {temperature(celsius + day % 3)}, {SKIES[(first + day) % len(SKIES)]}"
            for day in range(days())
        )
        text = f"{city}\n" + "\n".join(lines)
    return {"content": [{"type": "text", "text": text}]}


def answer(method, params):
    if method == "initialize":
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "weather", "title": "Weather", "version": "1.0.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params.get("name"), params.get("arguments", {}))
    raise Refused(-32601, f"unknown method: {method}")


def reply(line):
    """The answer to one line; none to what wants none."""
    try:
        message = json.loads(line)
    except ValueError:
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no JSON"}}
    if not isinstance(message, dict) or "method" not in message or "id" not in message:
        return None
    params = message.get("params")
    try:
        result = answer(message["method"], params if isinstance(params, dict) else {})
        return {"jsonrpc": "2.0", "id": message["id"], "result": result}
    except Refused as refused:
        code, why = refused.args
        return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": why}}


def main():
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    sys.stdout.reconfigure(encoding="utf-8")
    for line in sys.stdin:
        said = reply(line) if line.strip() else None
        if said is not None:
            print(json.dumps(said, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
