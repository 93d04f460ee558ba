"""What was seen of clients, as facts; and the files that are made of them.

`spec/clients.toml` has what people decide (names, versions, tags, notes), which is kept, and what was measured, which is written anew. From it
come the table in the library and the list in docs/clients.md.
"""

import datetime
import json
import re
import subprocess
import tomllib
from pathlib import Path

from probe_server import DATA, EMBEDDED, FAULT, INSTRUCTIONS, LONG_CHARS, PICTURE, SIZES, TEXT, TITLE, rows

ROOT = Path(__file__).resolve().parent.parent.parent
ATLAS = ROOT / "spec" / "clients.toml"
TABLE = ROOT / "crates" / "mcp-attune" / "src" / "clients" / "table.rs"
PAGE = ROOT / "docs" / "clients.md"
ROW = re.compile(r"row \d{6} (?:abcdefghij){4}")
META = "io.modelcontextprotocol/"
MARKS = [TEXT, DATA, EMBEDDED, FAULT]


# From what was seen to facts


def facts(seen):
    """What one run shows, or `None` for a client that could not be run."""
    if "failed" in seen:
        return None
    model = bool(seen["requests"])
    known = {"name": seen["name"], "day": seen["day"], "package": package(seen), **handshake(seen["messages"])}
    known["shows_titles"] = TITLE in json.dumps(seen["offered"]) or TITLE in seen["output"] if model else None
    known["instructions"] = INSTRUCTIONS in json.dumps(seen["offered"]) if model else None
    return known | results(seen, model)


def package(seen):
    name, _, version = re.sub(r"\[.*\]", "", seen["packages"][seen.get("main", 0)]).replace("==", "@").rpartition("@")
    return f"{name} {version}"


def handshake(messages):
    first = next(one for one in messages if one["message"].get("method") in ("server/discover", "initialize"))
    call = next(one for one in messages if one["message"].get("method") == "tools/call")
    asked, meta = first["message"]["params"], call["message"]["params"].get("_meta", {})
    modern = META + "protocolVersion" in meta
    opening = asked.get("_meta", {})
    capabilities = opening.get(META + "clientCapabilities", {}) if modern else asked.get("capabilities", {})
    declares = sorted(name for name in capabilities if name != "extensions") + sorted(capabilities.get("extensions", {}))
    info = opening.get(META + "clientInfo", {}) if modern else asked.get("clientInfo", {})
    own = sorted(key for key in meta if not key.startswith(META) and key != "progressToken")
    language = next((value for name, value in first["headers"].items() if name.lower() == "accept-language"), None)
    return {"info": info, "era": "modern" if modern else "legacy", "protocol": meta.get(META + "protocolVersion") or asked.get("protocolVersion"),
            "declares": declares, "meta": own, "accept_language": language}


def shown(seen, name):
    """A result as the model gets it, as one text; empty where the client made an end of it."""
    return json.dumps(seen["results"].get(name, ""), ensure_ascii=False)


def results(seen, model):
    both = shown(seen, "give_both")
    text, data = TEXT in both, DATA in both
    reads = {(True, False): "content", (False, True): "structuredContent", (True, True): "both"}.get((text, data))
    other = {"content": DATA in shown(seen, "give_data"), "structuredContent": TEXT in shown(seen, "give_text")}
    wrong = shown(seen, "give_wrong")
    passed = TEXT in wrong if text else len(wrong) <= len(both) + 10
    long, line = (len(ROW.findall(shown(seen, name))) for name in ("give_long_text", "give_long_data"))
    whole = [size for size in SIZES if len(ROW.findall(shown(seen, f"give_size-{size}"))) == len(rows(size))]
    cut = model and long < len(rows(LONG_CHARS))
    return {"reads": reads if model else None, "falls_back": other.get(reads, False) and model, "twice": shown(seen, "give_twice").count(DATA),
            "validates": "give_wrong" in seen["ended"] or not passed, "limit_characters": max(whole, default=0) if cut else None,
            "kept": long * 52 if cut else None, "kept_of_a_line": line * 52 if cut else None, "picture": picture(seen),
            "embedded": EMBEDDED in shown(seen, "give_embedded"), "error": FAULT in shown(seen, "give_error")}


def picture(seen):
    """Whether a picture reaches the model as one, as letters, or not at all."""

    def strings(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, dict)):
            for inner in value.values() if isinstance(value, dict) else value:
                yield from strings(inner)

    parts = seen["results"].get("give_picture", [])
    if any(text.startswith("data:image") for text in strings(parts)) or any(text == PICTURE for part in parts[1:] for text in strings(part)):
        return "yes"
    return "as base64 text" if PICTURE in json.dumps(parts) else "no"


# The atlas

MEASURED = ["era", "protocol", "declares", "reads", "falls_back", "validates", "shows_titles", "limit_characters"]


def agreed(found, key):
    """A fact that all clients of one name share; `None` where they differ."""
    values = [one[key] for one in found]
    return values[0] if all(value == values[0] for value in values) else None


def update(measured):
    """Writes what was measured into the entries of the atlas; returns what does not fit."""
    header = ATLAS.read_text().split("\n[[client]]")[0].rstrip()
    entries, problems = tomllib.loads(ATLAS.read_text())["client"], []
    for entry in entries:
        found = [measured[name] for name in entry["measured_with"] if measured.get(name)]
        if len(found) < len(entry["measured_with"]):
            problems.append(f"{entry['product']}: not every client of `measured_with` was measured; it stays as it was")
            continue
        for one in found:
            name = one["info"].get("name", "")
            if not any(name == known or known.endswith("*") and name.startswith(known[:-1]) for known in entry["names"]):
                problems.append(f"{entry['product']}: the client says that its name is {name!r}, which is not in `names`")
        entry |= {key: agreed(found, key) for key in MEASURED}
        entry["package"] = ", ".join(one["package"] for one in found)
        entry["measured"] = datetime.date.fromisoformat(min(one["day"] for one in found))
    ATLAS.write_text(header + "\n\n" + "\n".join(written(entry) for entry in entries))
    write_table(entries)
    return problems


def differences(measured):
    """What the atlas says of the clients that were measured, and is not so any more."""
    problems = []
    for entry in tomllib.loads(ATLAS.read_text())["client"]:
        found = [measured[name] for name in entry["measured_with"] if measured.get(name)]
        if found and len(found) == len(entry["measured_with"]):
            for key in MEASURED:
                if (now := agreed(found, key)) != entry.get(key):
                    problems.append(f"{entry['product']}: `{key}` is {now!r}, and {entry.get(key)!r} in the atlas")
    return problems


def written(entry):
    keys = ["product", "names", "from", "before", "tags", "note", "measured_with", "package", "measured", *MEASURED]
    lines = [f"{key} = {toml(entry[key])}" for key in keys if entry.get(key) is not None]
    return "[[client]]\n" + "\n".join(lines) + "\n"


def toml(value):
    if isinstance(value, (datetime.date, int)) and not isinstance(value, bool):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def write_table(entries):
    """The table of the library, formatted as rustfmt does."""

    def string(value):
        # The library has this name once.
        if value == META + "ui":
            return "Cow::Borrowed(extension::VIEWS)"
        return f"Cow::Borrowed({json.dumps(value, ensure_ascii=False)})"

    def strings(values):
        return f"Cow::Borrowed(&[{', '.join(map(string, values))}])"

    def option(value, write=lambda value: json.dumps(value)):
        return "None" if value is None else f"Some({write(value)})"

    def version(value):
        numbers = ([int(part) for part in value.split(".")] + [0, 0, 0])[:4]
        return f"ClientVersion::new({numbers})"

    out = "// @generated by `interop/agents/measure.py` from spec/clients.toml; change that file and run it with --write.\n\n"
    out += "//! The built-in entries of the client atlas.\n\nuse std::borrow::Cow;\n\nuse mcp_attune_wire::agree::Era;\nuse mcp_attune_wire::protocol::extension;\n\n"
    out += "use super::entry::{AtlasEntry, AtlasMeasurement, ReadField};\nuse super::version::{ClientVersion, VersionRange};\n\n"
    out += "pub(super) static ENTRIES: &[AtlasEntry] = &["
    reads = {"content": "Content", "structuredContent": "StructuredContent", "both": "Both"}
    for entry in entries:
        measured = f"AtlasMeasurement {{ date: {string(str(entry['measured']))}, package: {string(entry['package'])} }}"
        out += f"""AtlasEntry {{
            product: {string(entry['product'])},
            names: {strings(entry['names'])},
            versions: VersionRange {{ from: {option(entry.get('from'), version)}, before: {option(entry.get('before'), version)} }},
            era: {option(entry.get('era'), lambda era: 'Era::' + era.capitalize())},
            declares: {strings(entry.get('declares', []))},
            reads: {option(entry.get('reads'), lambda field: 'ReadField::' + reads[field])},
            falls_back: {json.dumps(entry.get('falls_back', False))},
            validates: {option(entry.get('validates'))},
            shows_titles: {option(entry.get('shows_titles'))},
            limit_characters: {option(entry.get('limit_characters'))},
            tags: {strings(entry['tags'])},
            measured: Some({measured}),
            note: {string(entry.get('note', ''))},
        }},"""
    out += "];\n"
    config = ["--edition", "2024", "--config-path", str(ROOT / "rustfmt.toml")]
    TABLE.write_text(subprocess.run(["rustfmt", *config], input=out, text=True, capture_output=True, check=True).stdout)


# The page

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def page_table(measured):
    tags = {name: entry["tags"] for entry in tomllib.loads(ATLAS.read_text())["client"] for name in entry["measured_with"]}
    heads = ["client", "`clientInfo`", "era", "declares", "hands to its model", "what comes twice", "data without text", "whole up to", "of 200,000 characters",
             "checks `outputSchema`", "pictures", "embedded text", "instructions", "titles", "tags to assume"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]

    def yes(value):
        return "–" if value is None else "yes" if value else "no"

    for one in measured.values():
        model = one["reads"] is not None
        twice = {1: "once", 2: "twice"}.get(one["twice"], "not at all") if model else "–"
        # Structured content alone reaches the model if the client reads it, or takes it where there is nothing else.
        data = yes(one["reads"] in ("structuredContent", "both") or one["falls_back"]) if model else "–"
        kept = "–" if not model else "all" if one["kept"] is None else f"{one['kept']:,}; {one['kept_of_a_line']:,} in one line"
        assumed = " ".join(f"`{tag}`" for tag in tags[one["name"]]) or "none" if one["name"] in tags else "no entry"
        info = f"`{one['info'].get('name')}` {one['info'].get('version')}"
        lines.append("| " + " | ".join([
            f"{one['package']}", info, f"{one['era']} ({one['protocol']})", ", ".join(f"`{name}`" for name in one["declares"]) or "nothing",
            f"`{one['reads']}`" if one["reads"] in ("content", "structuredContent") else one["reads"] or "–", twice, data,
            "–" if not model else f"{one['limit_characters']:,}" if one["limit_characters"] else "no limit seen", kept, yes(one["validates"]),
            one["picture"] if model else "–", yes(one["embedded"]) if model else "–", yes(one["instructions"]), yes(one["shows_titles"]), assumed]) + " |")
    return "\n".join(lines)


def write_page(measured):
    before, rest = PAGE.read_text().split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{page_table(measured)}\n{END}{after}")
