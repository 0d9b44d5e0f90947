// Which functions a first visit runs. `cargo xtask later` puts a program that counts into dist/, runs this, and reads the numbers
// that it prints: the places of the functions that ran when the page opened, when each plain number was changed to one that fits too, when
// the pointer and the keyboard were on their way to one, and when a link to a plain training was opened. What never ran comes later (see
// xtask/src/split); the first move of the pointer fetches it, long before a list of choices is open.

import { openPage } from './harness.mjs';
import { PLAIN_LINKS } from './plain-links.mjs';
import { FAR_RESTS_MS, LINK_RESTS_MS, ready } from './steps.mjs';

/** After this long nothing that a change sets off is left: link, announcement, what stands far below. */
const ALL_RESTS_MS = 2000;

const CHANGES = [
  ['s', ['4096', '16k', '8192']],
  ['b', ['2', '1']],
  ['gb', ['64', '128']],
  ['n', ['16', '8']],
  // Together, and still it fits.
  ['s', ['4096', '16k']],
  ['n', ['16']],
  ['b', ['2']],
  ['n', ['64', '8']],
];

const page = await openPage({ viewport: { width: 1280, height: 720 } });
await ready(page);
await page.waitForTimeout(FAR_RESTS_MS);
for (const [key, values] of CHANGES) {
  for (const value of values) {
    await page.evaluate(change, { key, value });
    await page.waitForTimeout(100);
  }
}
await page.waitForTimeout(LINK_RESTS_MS);
// The hand on its way to an input: over the bar, the curves and the ledger, down the page and back, and from field to field by key.
for (const [x, y] of [[300, 30], [700, 200], [700, 500], [900, 600], [200, 300]]) await page.mouse.move(x, y, { steps: 4 });
await page.mouse.wheel(0, 600);
await page.waitForTimeout(200);
await page.mouse.move(800, 400, { steps: 4 });
await page.mouse.wheel(0, -600);
for (let fields = 0; fields < 12; fields += 1) await page.keyboard.press('Tab');
await page.waitForTimeout(ALL_RESTS_MS);
const ran = new Set(await page.evaluate(() => [...globalThis.ran]));
for (const fragment of PLAIN_LINKS) {
  const opened = await openPage({ fragment, viewport: { width: 360, height: 740 }, touch: true });
  await ready(opened);
  await opened.waitForTimeout(ALL_RESTS_MS);
  for (const place of await opened.evaluate(() => [...globalThis.ran])) ran.add(place);
}
process.stdout.write(`${[...ran].join('\n')}\n`, () => process.exit(0));

/** Runs in the page: what typing or choosing a value sends. */
function change({ key, value }) {
  const element = document.getElementById(`f-${key}`);
  element.value = value;
  element.dispatchEvent(new Event(element.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }));
}
