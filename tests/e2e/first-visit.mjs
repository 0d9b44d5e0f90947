// Which functions a first visit runs. `cargo xtask later` puts a program that counts into dist/, runs this, and reads the numbers
// that it prints: the places of the functions that ran when the page opened, when each plain input was changed as people first do, and
// when the page was read to its end. What never ran comes later (see xtask/src/split).

import { openPage } from './harness.mjs';
import { FAR_RESTS_MS, LINK_RESTS_MS, ready } from './steps.mjs';

const CHANGES = [
  ['s', ['4096', '16k', '8192']],
  ['b', ['2', '1']],
  ['gb', ['64', '128']],
  ['n', ['16', '8']],
  ['rc', ['none', 'selective', 'full']],
  ['prec', ['fp32', 'bf16-pure', 'bf16']],
  ['opt', ['adamw8', 'sgd', 'sgdm', 'adafactor', 'adamw']],
  ['z', ['none', '1', '2', '3', 'fsdp']],
  ['tp', ['2', '1']],
  ['ker', ['eager', 'fused']],
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
const ran = await page.evaluate(() => [...globalThis.ran]);
process.stdout.write(`${ran.join('\n')}\n`, () => process.exit(0));

/** Runs in the page: what typing or choosing a value sends. */
function change({ key, value }) {
  const element = document.getElementById(`f-${key}`);
  element.value = value;
  element.dispatchEvent(new Event(element.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true }));
}
