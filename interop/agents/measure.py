#!/usr/bin/env python3
"""Measures what MCP clients make of results, and writes what was seen.

    interop/agents/measure.py                 installs the clients of agents.toml, runs all of them, writes the files below
    interop/agents/measure.py codex opencode  only these; prints what was found out, compares it with the atlas and writes no file
    interop/agents/measure.py --through target/release/attune codex
                                              the same through `attune serve` with `profile = "auto"`; prints how many characters of each result
                                              reached the model, and how many did without Attune the last time
    interop/agents/measure.py --write         runs nothing; writes the files from what was seen the last time

The files are spec/clients.toml, crates/mcp-attune/src/clients/table.rs and the table of docs/clients.md. It exits with 1 where a client could not
be measured, or is another than the atlas says; with --through, where a result that reached the model does not reach it any more.

Each client talks to an MCP server of ours (probe_server.py) and to a model endpoint of ours (model_endpoint.py), which calls one tool after the
other. What a client sends to the server, and what of each result reaches the model, is in target/agents/seen/NAME.json. The clients run
in a network namespace of their own that has nothing but loopback.

Needs Python 3.11, npm, and `unshare` and `ip` of Linux.
"""

import argparse
import datetime
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = ROOT / "target" / "agents"
SEEN = WORK / "seen"
NODE = "node@24.21.0"
UV = "uv==0.13.8"
PROMPT = "Call every tool of the server probe, one after the other."
INSIDE = "ATTUNE_AGENTS_INSIDE"


def agents():
    return tomllib.loads((HERE / "agents.toml").read_text())["agent"]


# Installing


def packages(agent):
    return agent.get("npm", []) + agent.get("pypi", [])


def folder(agent):
    return WORK / "installed" / agent["name"]


def install(agent):
    """Installs a client, unless the very same packages are there."""
    place, stamp = folder(agent), folder(agent) / "installed.json"
    if stamp.exists() and json.loads(stamp.read_text()) == packages(agent):
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    print(f"installing {agent['name']}: {' '.join(packages(agent))}", file=sys.stderr)
    if "npm" in agent:
        (place / "package.json").write_text("{}")
        run_quietly(["npm", "install", "--no-fund", "--no-audit", "--loglevel=error", "--prefix", str(place), *agent["npm"]], node_first())
    else:
        uv = WORK / "installed" / "uv" / "bin" / "uv"
        run_quietly([str(uv), "venv", "--python", sys.executable, str(place / "venv")])
        run_quietly([str(uv), "pip", "install", "--python", str(place / "venv"), *agent["pypi"]])
    stamp.write_text(json.dumps(packages(agent)))


def install_tools():
    node, uv = WORK / "installed" / "node", WORK / "installed" / "uv"
    if not (node / "node_modules").exists():
        node.mkdir(parents=True, exist_ok=True)
        run_quietly(["npm", "install", "--no-fund", "--no-audit", "--loglevel=error", "--prefix", str(node), NODE])
    if not uv.exists():
        run_quietly([sys.executable, "-m", "venv", str(uv)])
        run_quietly([str(uv / "bin" / "pip"), "install", "--quiet", UV])


def run_quietly(command, env=None):
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} failed:\n{done.stdout[-3000:]}")


def node_first():
    return {**os.environ, "PATH": f"{WORK / 'installed' / 'node' / 'node_modules' / '.bin'}:{os.environ['PATH']}"}


# Running


def run(agent, model, server, tool=""):
    """One run of a client: its exit code, and what it printed."""
    home = WORK / "homes" / agent["name"]
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    binaries = folder(agent) / ("node_modules/.bin" if "npm" in agent else "venv/bin")
    values = {"{model}": model.url, "{mcp}": server.url, "{prompt}": PROMPT, "{here}": str(HERE), "{home}": str(home), "{bin}": str(binaries),
              "{installed}": str(folder(agent)), "{tool}": tool}

    def filled(text):
        for name, value in values.items():
            text = text.replace(name, value)
        return text

    for name, text in agent.get("files", {}).items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(filled(text).lstrip())
    env = {"HOME": str(home), "PATH": node_first()["PATH"], "LANG": "C.UTF-8", "TERM": "dumb", "CI": "1", "NO_COLOR": "1", "XDG_CONFIG_HOME": str(home / ".config"),
           "XDG_DATA_HOME": str(home / ".local/share"), "XDG_CACHE_HOME": str(home / ".cache"), "XDG_STATE_HOME": str(home / ".local/state")}
    env |= {name: filled(value) for name, value in agent.get("env", {}).items()}
    log = home / "output.log"
    with log.open("wb") as out:
        child = subprocess.Popen([filled(word) for word in agent["command"]], cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = child.wait(timeout=agent.get("seconds", 120))
        except subprocess.TimeoutExpired:
            code = None
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return code, log.read_text(errors="replace")


class Gateway:
    """Attune before a server, as an operator would run it who lets profiles count."""

    def __init__(self, program, server):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.messages, self.url = server.messages, f"http://127.0.0.1:{port}/mcp"
        config = WORK / "attune.toml"
        config.write_text(f"""[server]
listen = "127.0.0.1:{port}"
[upstream]
url = "{server.url}"
[content]
enabled = true
[callers]
profile = "auto"
""")
        with (WORK / "attune.log").open("wb") as log:
            self.child = subprocess.Popen([program, "serve", "--config", str(config)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit(f"error: {program} does not listen; see {WORK / 'attune.log'}")

    def end(self):
        self.child.terminate()
        self.child.wait()


def measure(agent, through):
    """Runs a client until each tool was called once, and returns what was seen."""
    from model_endpoint import ModelEndpoint
    from probe_server import ProbeServer

    model, server = ModelEndpoint(agent.get("bridge"), agent.get("namespace")), ProbeServer()
    if not through:
        return measure_at(agent, model, server)
    gateway = Gateway(through, server)
    try:
        return measure_at(agent, model, gateway)
    finally:
        gateway.end()


def measure_at(agent, model, server):
    from probe_server import CASES, SIZES

    seen = {"name": agent["name"], "day": datetime.date.today().isoformat(), "packages": packages(agent), "main": agent.get("main", 0), "results": {}, "ended": {}, "offered": None, "requests": 0, "output": ""}
    if not agent.get("model", True):
        for name in CASES.keys() - {"give_size"}:
            _, output = run(agent, model, server, name)
            seen["results"][name] = [output]
            seen["output"] += output
        seen["messages"] = server.messages
        return seen
    left = [name for name in CASES if name != "give_size"] + [f"give_size-{size}" for size in SIZES]
    while left:
        model.begin(left)
        code, output = run(agent, model, server)
        seen["output"] += output
        seen["requests"] += len(model.requests)
        seen["results"] |= model.results
        seen["offered"] = seen["offered"] or next((request for request in model.requests if "give_text" in json.dumps(request)), None)
        # A client that ends at a result is run again for the rest.
        for name in model.called:
            if name not in model.results:
                seen["ended"][name] = {"code": code, "output": output[-1500:], "last": model.requests[-1]}
        left = [name for name in left if name not in model.called]
        if not model.called:
            seen["failed"] = {"code": code, "output": output[-3000:], "other": model.other[:20], "requests": len(model.requests)}
            break
    seen["messages"] = server.messages
    return seen


def seen_file(agent, through):
    return SEEN / f"{agent['name']}{'-through-attune' if through else ''}.json"


def measure_all(chosen, through):
    SEEN.mkdir(parents=True, exist_ok=True)
    for agent in chosen:
        print(f"measuring {agent['name']}", file=sys.stderr)
        seen_file(agent, through).write_text(json.dumps(measure(agent, through), indent=1))


def report_through(chosen):
    """Prints what reached each model without and with Attune, and returns the exit code."""
    import atlas

    problems = []
    for agent in chosen:
        with_attune = json.loads(seen_file(agent, True).read_text())
        without = json.loads(seen_file(agent, False).read_text()) if seen_file(agent, False).exists() else None
        if with_attune.get("failed"):
            problems.append(f"{agent['name']}: could not be measured: {json.dumps(with_attune['failed'])[-1500:]}")
            continue
        print(agent["name"])
        for name in with_attune["results"]:
            now = len(atlas.shown(with_attune, name))
            before = len(atlas.shown(without, name)) if without else None
            print(f"  {name:24} {before if before is not None else '-':>8} {now:>8}")
            if without and any(mark in atlas.shown(without, name) and not any(other in atlas.shown(with_attune, name) for other in atlas.MARKS) for mark in atlas.MARKS):
                problems.append(f"{agent['name']}: {name}: something reached the model, and through Attune nothing does")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def report(chosen, write):
    """Prints what was found out, writes the files, and returns the exit code."""
    import atlas

    measured, problems = {}, []
    for agent in chosen:
        seen = json.loads((SEEN / f"{agent['name']}.json").read_text())
        measured[agent["name"]] = atlas.facts(seen)
        if measured[agent["name"]] is None:
            problems.append(f"{agent['name']}: could not be measured: {json.dumps(seen['failed'])[-1500:]}")
        else:
            print(json.dumps(measured[agent["name"]]))
    if write:
        problems += atlas.update(measured)
        atlas.write_page({name: one for name, one in measured.items() if one})
    else:
        problems += atlas.differences(measured)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="clients of agents.toml; all where none is named")
    parser.add_argument("--write", action="store_true", help="run nothing, write the files from what was seen the last time")
    parser.add_argument("--through", metavar="ATTUNE", type=lambda path: str(Path(path).resolve()), help="the program `attune`, to be put between the client and the server")
    options = parser.parse_args()
    chosen = [agent for agent in agents() if not options.names or agent["name"] in options.names]
    unknown = set(options.names) - {agent["name"] for agent in chosen}
    if unknown:
        sys.exit(f"error: no client of this name in agents.toml: {', '.join(sorted(unknown))}")
    if os.environ.get(INSIDE):
        return measure_all(chosen, options.through)
    if not options.write:
        install_tools()
        for agent in chosen:
            install(agent)
        command = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, *sys.argv]
        if subprocess.run(command, env={**os.environ, INSIDE: "1"}).returncode:
            sys.exit("error: the clients could not be run in a network namespace (unshare, ip)")
    sys.exit(report_through(chosen) if options.through else report(chosen, not options.names))


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main()
