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
  const size = [Math.round(shown), Math.round((shown * high) / wide)];
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("width", size[0]);
  copy.setAttribute("height", size[1]);
  const ground = document.createElementNS(SVG, "rect");
  ground.setAttribute("width", wide);
  ground.setAttribute("height", high);
  ground.setAttribute("fill", getComputedStyle(document.documentElement).getPropertyValue("--chart-page").trim() || "#fff");
  const printed = document.querySelector(".printed__link")?.textContent ?? location.href;
  const about = document.querySelector(".bar__about")?.textContent;
  const remarks = [...document.querySelectorAll(".verdict .remark")].map((remark) => remark.textContent);
  const texts = [["title", about ? `${name}: ${about}` : name], ["desc", [...remarks, printed].join(" ")]].map(([kind, words]) => {
    const element = document.createElementNS(SVG, kind);
    element.textContent = words;
    return element;
  });
  copy.prepend(...texts, ground);
  return [new XMLSerializer().serializeToString(copy), size];
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
