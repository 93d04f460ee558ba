// Looks at a preview as a browser lays it out, uses its switches, and tells what it saw, as JSON, to the page around it.

const pause = () => new Promise((done) => setTimeout(done, 20));
const shown = (selector) => [...document.querySelectorAll(selector)].filter((it) => it.checkVisibility());

// WCAG 2: how bright a colour is, and how far two are apart.
const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
const bright = (colour) => {
  const [red, green, blue] = parts(colour).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const behind = (element) => {
  for (let it = element; it; it = it.parentElement) {
    const colour = getComputedStyle(it).backgroundColor;
    if ((parts(colour)[3] ?? 1) === 1) return colour;
  }
  return "rgb(255, 255, 255)";
};
const contrast = (element) => {
  const pair = [bright(getComputedStyle(element).color), bright(behind(element))];
  return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
};

// The text that is hardest to read.
const hardest = () => {
  const written = shown("body *").filter((it) =>
    [...it.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()));
  const all = written.filter((it) => !it.closest(".icon")).map((it) => ({ contrast: contrast(it), what: it.outerHTML.slice(0, 120) }));
  return all.reduce((least, it) => (it.contrast < least.contrast ? it : least));
};

const look = () => {
  const stores = shown(".store");
  const left = (selector) => shown(`.store ${selector}`)[0]?.getBoundingClientRect().left;
  return {
    stores: stores.map((it) => it.id),
    direction: stores[0] && getComputedStyle(stores[0]).direction,
    icons: shown(".store .icon").map((it) => (it.matches(".on-dark") ? "dark" : "light")),
    icon: left(".icon"),
    name: left("h2"),
    marks: shown(".store .mark").length,
    paper: bright(getComputedStyle(document.body).backgroundColor),
    hardest: hardest(),
    wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
};

// What no page of ours has: elements that load or run something, but for this script, and handlers.
const active = () => {
  const acts = (it) => it.matches("script, img, iframe, object, embed, link, form, base, [href^='javascript']") ||
    [...it.attributes].some((attribute) => attribute.name.startsWith("on"));
  return [...document.querySelectorAll("*")].filter((it) => it !== own && acts(it)).map((it) => it.outerHTML.slice(0, 120));
};
const own = document.currentScript;

addEventListener("load", async () => {
  const seen = { title: document.title, active: active(), width: innerWidth, first: look(), locales: {} };
  for (const theme of ["dark", "light"]) {
    document.getElementById(`theme_${theme}`).click();
    await pause();
    seen[theme] = look();
  }
  document.getElementById("marks_on").click();
  await pause();
  seen.unmarked = look().marks;
  document.getElementById("marks_on").click();
  for (const link of document.querySelectorAll("nav a")) {
    link.click();
    await pause();
    seen.locales[link.getAttribute("href").slice(1)] = look();
  }
  parent.postMessage(JSON.stringify(seen), "*");
});
