// Makes files of the page's charts: SVG with the page's colours written into it, or PNG drawn from
// that. It is fetched when the share dialog asks for the first picture.

/** Style properties that are copied into attributes, because other programs do not have the
 * style sheet. */
const LOOKS = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "paint-order", "opacity", "visibility", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline",
];
/** PNG pixels for one CSS pixel. */
const DENSITY = 2;
const SVG = "http://www.w3.org/2000/svg";

/** The drawing as text with all styles as attributes, and its size in CSS pixels. */
function standalone(drawing, name) {
  const copy = drawing.cloneNode(true);
  const shapes = [copy, ...copy.querySelectorAll("*")];
  [drawing, ...drawing.querySelectorAll("*")].forEach((live, at) => {
    const style = getComputedStyle(live);
    for (const look of LOOKS) {
      const said = style.getPropertyValue(look);
      // A pattern's name stays as the drawing has it, because the computed value may contain the
      // page's address.
      if (said && !said.includes("url(")) shapes[at].setAttribute(look, said);
    }
    for (const attribute of ["class", "aria-hidden", "focusable", "role", "tabindex", "data-do", "style"]) shapes[at].removeAttribute(attribute);
  });
  const [, , wide, high] = drawing.getAttribute("viewBox").split(" ").map(Number);
  const shown = drawing.getBoundingClientRect().width || wide / 4;
  const printed = document.querySelector(".printed__link")?.textContent ?? location.href;
  const about = document.querySelector(".bar__about")?.textContent ?? "";
  const remarks = [...document.querySelectorAll(".verdict .remark")].map((remark) => remark.textContent);
  const page = sheet(Math.max(320, Math.round(shown) + 28));
  page.line(name, { size: 16, weight: 600 });
  if (about) page.line(about, { size: 12 });
  page.gap(6);
  page.place(copy, [wide, high], Math.round(shown));
  page.gap(8);
  page.legend();
  const answer = document.querySelector(".verdict__sentence")?.textContent ?? "";
  for (const words of [answer, ...remarks, printed]) page.line(words, { size: 10.5, muted: true });
  return page.end(about ? `${name}: ${about}` : name, [...remarks, printed].join(" "));
}

/** A sheet that grows line by line: what stands around a chart on the page stands around its picture, too. */
function sheet(width) {
  const PAD = 14;
  const root = document.documentElement;
  const colour = (property, otherwise) => getComputedStyle(root).getPropertyValue(property).trim() || otherwise;
  const font = getComputedStyle(document.body).fontFamily;
  const [ink, muted] = [colour("--chart-ink", "#000"), colour("--chart-muted", "#555")];
  const outer = document.createElementNS(SVG, "svg");
  let at = PAD;
  const element = (kind, attributes, words) => {
    const made = document.createElementNS(SVG, kind);
    for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
    if (words !== undefined) made.textContent = words;
    outer.append(made);
    return made;
  };
  // No text is measured: a letter is taken to be a little wider than it is in the mean.
  const wideAs = (words, size) => words.length * size * 0.56;
  const pieces = (words, size) => {
    const lines = [""];
    for (const word of words.split(/\s+/)) {
      // A link has no blanks: it breaks where the sheet ends.
      const most = Math.max(8, Math.floor((width - 2 * PAD) / (size * 0.56)));
      for (const part of word.match(new RegExp(`.{1,${most}}`, "gu")) ?? []) {
        const longer = lines.at(-1) ? `${lines.at(-1)} ${part}` : part;
        if (longer.length <= most) lines[lines.length - 1] = longer;
        else lines.push(part);
      }
    }
    return lines.filter(Boolean);
  };
  return {
    gap: (more) => (at += more),
    line(words, { size, weight = 400, muted: faint = false }) {
      for (const piece of pieces(words, size)) {
        at += size * 1.25;
        element("text", { x: PAD, y: at, "font-family": font, "font-size": size, "font-weight": weight, fill: faint ? muted : ink }, piece);
      }
    },
    place(drawing, [wide, high], shown) {
      const height = (shown * high) / wide;
      const attributes = { x: PAD, y: at, width: shown, height, viewBox: `0 0 ${wide} ${high}` };
      for (const [attribute, value] of Object.entries(attributes)) drawing.setAttribute(attribute, value);
      outer.append(drawing);
      width = Math.max(width, shown + 2 * PAD);
      at += height;
    },
    /** The colours of the bar's legend with their names; patterns are left to the chart. */
    legend() {
      let x = PAD;
      for (const item of document.querySelectorAll("#stack .stack__item")) {
        const words = item.textContent.replace(/[\d.,\s\u202f<]+$/u, "").trim();
        const ground = item.querySelector(".swatch rect[class^=kind-]");
        if (!ground || !words) continue;
        const long = 18 + wideAs(words, 11) + 14;
        if (x > PAD && x + long > width - PAD) {
          x = PAD;
          at += 18;
        }
        element("rect", { x, y: at, width: 12, height: 12, rx: 2, fill: getComputedStyle(ground).fill });
        element("text", { x: x + 18, y: at + 10, "font-family": font, "font-size": 11, fill: ink }, words);
        x += long;
      }
      at += 20;
    },
    end(title, desc) {
      const height = Math.ceil(at + PAD);
      const ground = element("rect", { width, height, fill: colour("--chart-page", "#fff") });
      const texts = [["title", title], ["desc", desc]].map(([kind, words]) => element(kind, {}, words));
      outer.prepend(...texts, ground);
      for (const [attribute, value] of Object.entries({ xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` })) outer.setAttribute(attribute, value);
      return [new XMLSerializer().serializeToString(outer), [width, height]];
    },
  };
}

/** The drawing as a PNG file. */
async function drawn(markup, [width, height]) {
  const address = URL.createObjectURL(new Blob([markup], { type: "image/svg+xml" }));
  try {
    const image = new Image(width * DENSITY, height * DENSITY);
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    const png = await new Promise((done) => canvas.toBlob(done, "image/png"));
    if (!png) throw new Error("nothing was drawn");
    return png;
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Hands the chart that a button names to the browser's downloads. */
export async function take(button) {
  const drawing = document.querySelector(button.dataset.picture);
  const form = button.dataset.form;
  const name = button.getAttribute("aria-label").replace(/ as \w+$/, "");
  const [markup, size] = standalone(drawing, name);
  const file = form === "png" ? await drawn(markup, size) : new Blob([markup], { type: "image/svg+xml" });
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(file);
  anchor.download = `headroom-${name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}.${form}`;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}
