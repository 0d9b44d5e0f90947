// Starts the page that is a single file: it contains the program and its bindings as text, from
// which workers are made, too.

/** The bytes that an element's text packs, in basE91: two letters hold 13 bits, or 14 where
 * their value is small. */
const unpack = async (text) => {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&()*+,./:;-=\\?@[]^_`{|}~'";
  const digits = new Uint8Array(128);
  for (let digit = 0; digit < letters.length; digit += 1) digits[letters.charCodeAt(digit)] = digit;
  const packed = new Uint8Array(Math.ceil((text.length * 7) / 8));
  let [length, bits, count] = [0, 0, 0];
  for (let at = 0; at + 1 < text.length; at += 2) {
    const value = digits[text.charCodeAt(at)] + digits[text.charCodeAt(at + 1)] * 91;
    bits |= value << count;
    count += (value & 8191) > 88 ? 13 : 14;
    for (; count > 7; count -= 8) {
      packed[length++] = bits;
      bits >>= 8;
    }
  }
  if (text.length % 2) packed[length++] = bits | (digits[text.charCodeAt(text.length - 1)] << count);
  return unlzma(packed.subarray(0, length));
};

const textOf = (id) => document.getElementById(id).textContent;

/** A worker's script. It contains everything, because nothing can be fetched where there is no
 * server. */
const workerScript = () =>
  URL.createObjectURL(
    new Blob(
      [
        textOf("unpack"),
        ";\n",
        textOf("bindings"),
        `\nconst unpack = ${unpack};\nunpack(${JSON.stringify(textOf("program").trim())}).then((module_or_path) => wasm_bindgen({ module_or_path }))`,
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
  // The answer is in the HTML, so the program starts after the first paint.
  await Promise.race([
    new Promise((painted) => requestAnimationFrame(() => setTimeout(painted))),
    new Promise((late) => setTimeout(late, 1000)),
  ]);
  await wasm_bindgen({ module_or_path: await unpack(textOf("program").trim()) });
  dispatchEvent(new CustomEvent("HeadroomStarted"));
})();
