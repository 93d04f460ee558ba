// Manifests that are nearly right, and what the official tool says of them.
//
//   node mutants.mjs questions        every mutant of every version, a JSON object a line: what was done, and the text
//   node mutants.mjs answer PACKAGE   reads those lines, and writes whether the official tool finds each valid

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

const FULL = JSON.parse(readFileSync(join(dirname(fileURLToPath(import.meta.url)), "manifest.json"), "utf8"));
const SINCE = { "0.1": [], "0.2": ["privacy_policies"], "0.3": ["icons", "localization", "_meta"], "0.4": [] };
const VERSIONS = Object.keys(SINCE);

// A value of every kind, and some that look like another.
const VALUES = [
  null, true, false, 0, -1.5, 1e21, "", " ", "text", "true", "7", [], {}, [""], ["a", 7], [null], [[]], { a: 1 }, { a: "b" },
  { name: "x" }, [{}], [{ name: "x" }],
];

const TEXTS = [
  // Addresses.
  "https://example.com", "http://", "https://", "//example.com", "example.com", "www.example.com", "ftp://x", "mailto:a",
  "javascript:alert(1)", "a:", ":a", "1:a", "a b:c", " https://example.com ", "https://exa mple.com", "https://example.com/a b",
  "https://ex%41mple.com", "https://[::1]/", "https://[::1", "https://1.2.3.256/", "https://256/", "https://0x7f.1/",
  "https://a:b@c:99999/", "https://a:b@c:65535/", "https://ü.example", "https://xn--/", "https://xn--a.com", "https://a..b/",
  "https://-a-/", "https://a_b.com", "https://a<b.com/", "http:example.com", "http:/example.com", "http:\\example.com", "file:",
  "file:///c:/", "data:,", "urn:isbn:1", "HTTPS://EXAMPLE.COM", "ht\ntps://example.com", "https://example.com:80:80", "blob:",
  "https://%zz/", "https://example.com/%zz", "https://a\u0000b/", "https://\u00ad/", "https://a\u200db.com", "git@github.com:a/b.git",
  "git+ssh://git@example.com/a", "https://例え.テスト", "https://faß.de", "https://a.b.c.d.e./", "https://./", "https://../", "x://a b",
  "x://a%b", "x:///", "https://１.2.3.4/", "https://1.2.3.4.5/", "https://1.2.3.08/", "https://example.com\\a", "https:///example.com",
  "https://user@/", "https://:80/", "https://a:/", "https://a:b/", "x://:80", "ws://", "non-special:opaque path ", "https://％４１.com",
  // Addresses of e-mail.
  "a@b.co", "A@B.CO", "a.b@c.de", ".a@b.co", "a.@b.co", "a..b@c.de", "a@b", "a@b.c", "a@b.c1", "a@-b.co", "a@b-.co", "a@b..co",
  "a@@b.co", "@b.co", "a@", "a'b@c.de", "a'@c.de", "'a@c.de", "a+b@c.de", "+@c.de", "-@c.de", "_@c.de", "ä@b.co", "a@ä.co", "a b@c.de",
  "a@b.co ", "a@b.co\n", "\"a\"@b.co", "a@[1.2.3.4]", "a@1.com", "a@b.c.d.ef", "a!b@c.de", "a@b_c.de", "Ann <a@b.co>", "a@b.ſs",
  // Sizes.
  "16x16", "0x0", "16X16", "16x", "x16", "16x16x16", "16 x 16", "-1x1", "+1x1", "1e3x1", "16x16\n", "99999999999999999999x1", "١٦x١٦",
  "any",
  // Tags of languages.
  "en", "e", "en-US", "en_US", "en-", "-en", "en--US", "abcdefgh", "abcdefghi", "en-abcdefgh", "en-abcdefghi", "12", "x-a", "zh-Hans-CN",
  "en-US\n", "é-US", "en-u-ca-x", "ſs",
  // Places for a locale.
  "${locale}", "${LOCALE}", "${ locale }", "$locale", "{locale}", "a/${locale}/b/${Locale}.json", "../${locale}", "${locale", "${locaLe}",
  // Words and versions.
  "python", "Python", "node", "binary", "uv", "UV", "darwin", "macos", "linux", "win32", "string", "number", "boolean", "directory",
  "file", "array", "0.1", "0.2", "0.3", "0.4", "0.5", "1.0", "0.10", "00.1",
  // Paths.
  "icon.png", "./icon.png", "assets//icon.png", "assets/./icon.png", "/icon.png", "icon.png/", "missing.png", "notes.txt", "assets",
  ".", "", "http://example.com/icon.png", "https://example.com/icon.png", "HTTP://example.com/icon.png", "${__dirname}/icon.png",
  "https://${__dirname}", "icon.png\u0000", "data:image/png;base64,AAAA", "Icon.PNG",
];

/** Where more is asked of a text than that it is one. */
const FORMATTED = /^(author\.(email|url)|homepage|icon|icons\.0\.(size|theme)|localization\.\w+|server\.type|privacy_policies\.0|repository\.url|compatibility\.platforms\.0|user_config\.key\.type|name)$/;

function full(version) {
  const manifest = structuredClone(FULL);
  for (const later of VERSIONS.slice(VERSIONS.indexOf(version) + 1)) for (const key of SINCE[later]) delete manifest[key];
  manifest.manifest_version = manifest.dxt_version = version;
  return manifest;
}

/** Every place in a value, as the names that lead to it. */
function places(value, path = []) {
  const inner = value !== null && typeof value === "object" ? Object.keys(value) : [];
  return [path, ...inner.flatMap((key) => places(value[key], [...path, Array.isArray(value) ? Number(key) : key]))];
}

const at = (value, path) => path.reduce((value, key) => value[key], value);

function changed(manifest, path, change) {
  const copy = structuredClone(manifest);
  if (path.length === 0) return change(copy, null, null) ?? copy;
  change(at(copy, path), at(copy, path.slice(0, -1)), path.at(-1));
  return copy;
}

function* mutants(version) {
  const manifest = full(version);
  yield ["as it is", manifest];
  const known = new Set(places(FULL).flat().filter((key) => typeof key === "string"));
  for (const path of places(manifest)) {
    const name = path.join(".");
    if (path.length > 0) {
      yield [`${name} dropped`, changed(manifest, path, (_, owner, key) => void (Array.isArray(owner) ? owner.splice(key, 1) : delete owner[key]))];
    }
    for (const value of VALUES) {
      const set = (_, owner, key) => (owner === null ? value : void (owner[key] = value));
      yield [`${name} = ${JSON.stringify(value)}`, path.length === 0 ? value : changed(manifest, path, set)];
    }
    const here = at(manifest, path);
    if (typeof here === "string" && FORMATTED.test(name)) {
      for (const text of TEXTS) {
        yield [`${name} = ${JSON.stringify(text)}`, changed(manifest, path, (_, owner, key) => void (owner[key] = text))];
      }
    }
    if (here !== null && typeof here === "object" && !Array.isArray(here)) {
      for (const key of [...known, "unknown", "", "toString", "constructor", "Name", "sizes", "mcpConfig", "my_client"]) {
        if (Object.hasOwn(here, key)) continue;
        yield [`${name}.${key} added`, changed(manifest, path, (value) => void (value[key] = "text"))];
      }
    }
    if (Array.isArray(here)) {
      yield [`${name} twice as long`, changed(manifest, path, (value) => void value.push(...structuredClone(value)))];
    }
  }
  for (const said of [undefined, null, 3, "0.1", "0.2", "0.3", "0.4", "0.5", "", [version]]) {
    for (const old of [undefined, null, 3, "0.1", "0.2", "0.3", "0.4", "0.5", "", [version]]) {
      yield [`versions ${JSON.stringify([said, old])}`, { ...manifest, manifest_version: said, dxt_version: old }];
    }
  }
}

/** Texts that are not quite JSON, or are it in an unusual way. */
function* texts() {
  const plain = JSON.stringify(full("0.3"));
  yield ["a byte order mark", `\uFEFF${plain}`];
  yield ["blanks around it", ` \n\t\r${plain}\n`];
  yield ["a form feed", `\f${plain}`];
  yield ["nothing", ""];
  yield ["cut", plain.slice(0, -1)];
  yield ["twice", plain + plain];
  yield ["a comma too many", plain.replace(/}$/, ",}")];
  yield ["a comment", plain.replace("{", "{ // no\n")];
  yield ["single quotes", plain.replaceAll('"', "'")];
  yield ["a name twice, the last one right", plain.replace('"name":', '"name":7,"name":')];
  yield ["a name twice, the last one wrong", plain.replace('"name":"weather"', '"name":"weather","name":7')];
  yield ["an escaped name", plain.replace('"name":', '"n\\u0061me":')];
  yield ["half a character", plain.replace('"weather"', '"\\ud800"')];
  yield ["half a character in an address", plain.replace("https://example.com/weather", "https://example.com/\\ud800")];
  yield ["half a character in a host", plain.replace("https://example.com/weather", "https://\\ud800/")];
  yield ["half a character in a tag", plain.replace('"en-US"', '"en-\\ud800"')];
  yield ["half a character as a theme", plain.replace('"light"', '"\\ud800"')];
  yield ["half a character as a name", plain.replace('"license"', '"\\ud800"')];
  yield ["a number beyond all", plain.replace('"min":1', '"min":1e999')];
  yield ["minus nothing", plain.replace('"min":1', '"min":-0')];
  yield ["no number", plain.replace('"min":1', '"min":NaN')];
  yield ["a number with a plus", plain.replace('"min":1', '"min":+1')];
  yield ["__proto__ at the top", plain.replace("{", '{"__proto__":{},')];
  yield ["__proto__ in env", plain.replace('"env":{', '"env":{"__proto__":"a",')];
  yield ["__proto__ in env, wrong", plain.replace('"env":{', '"env":{"__proto__":1,')];
  yield ["a line feed in a text", plain.replace("weather", "wea\nther")];
  yield ["a hundred brackets", plain.replace("[1,", `[${"[".repeat(100)}${"]".repeat(100)},`)];
}

function* questions() {
  for (const version of VERSIONS) {
    for (const [what, manifest] of mutants(version)) yield { what: `${version}: ${what}`, text: JSON.stringify(manifest) };
  }
  for (const [what, text] of texts()) yield { what, text };
}

async function answer(folder) {
  const { validateManifest } = await import(pathToFileURL(join(folder, "dist/node/validate.js")).href);
  const bundle = mkdtempSync(join(tmpdir(), "attune-mutants-"));
  const picture = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  mkdirSync(join(bundle, "assets"));
  for (const name of ["icon.png", "assets/icon.png"]) writeFileSync(join(bundle, name), picture);
  writeFileSync(join(bundle, "notes.txt"), "no picture");
  const print = console.log;
  console.log = console.error = () => {};
  for await (const line of createInterface({ input: process.stdin })) {
    writeFileSync(join(bundle, "manifest.json"), JSON.parse(line).text);
    print(JSON.stringify({ official: validateManifest(bundle) }));
  }
  rmSync(bundle, { recursive: true });
}

if (process.argv[2] === "answer") await answer(process.argv[3]);
else for (const question of questions()) process.stdout.write(`${JSON.stringify(question)}\n`);
