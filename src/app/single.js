// Starts the page that is a single file: program and bindings stand in it as text, and the workers are made from the same.

/** The bytes that an element's text packs: how many at the end are not the file's, then Z85 with ~ for <, five letters for four bytes. */
const unpack = async (text) => {
  const letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&~>()[]{}@%$#";
  const digits = new Uint8Array(128);
  for (let digit = 0; digit < letters.length; digit += 1) digits[letters.charCodeAt(digit)] = digit;
  const words = new DataView(new ArrayBuffer(((text.length - 1) / 5) * 4));
  for (let word = 0; word < words.byteLength / 4; word += 1) {
    let value = 0;
    for (let at = 1 + word * 5; at < 6 + word * 5; at += 1) value = value * 85 + digits[text.charCodeAt(at)];
    words.setUint32(word * 4, value);
  }
  const packed = new Uint8Array(words.buffer, 0, words.byteLength - Number(text[0]));
  return unlzma(packed);
};

const textOf = (id) => document.getElementById(id).textContent;

/** A worker's script: it brings everything along, because it may ask for nothing where there is no server. */
const workerScript = () =>
  URL.createObjectURL(
    new Blob(
      [
        textOf("unpack"),
        ";\n",
        textOf("bindings"),
        `\nconst unpack = ${unpack};\nunpack("${textOf("program").trim()}").then((module_or_path) => wasm_bindgen({ module_or_path }))`,
        ".catch((error) => postMessage(`failed: ${error}`));",
      ],
      { type: "text/javascript" },
    ),
  );

addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-picture]");
  if (!button) return;
  take(button).catch(() => {
    const said = document.getElementById("take-said");
    said.textContent = said.dataset.failed;
  });
});

(async () => {
  const address = workerScript();
  for (const meta of document.querySelectorAll("meta[name^=headroom-]")) meta.content = address;
  // The answer stands in the HTML: the program comes after the first picture.
  await Promise.race([
    new Promise((painted) => requestAnimationFrame(() => setTimeout(painted))),
    new Promise((late) => setTimeout(late, 1000)),
  ]);
  await wasm_bindgen({ module_or_path: await unpack(textOf("program").trim()) });
  dispatchEvent(new CustomEvent("HeadroomStarted"));
})();
