// Pictures of the page for people to look at, in tests/e2e/out (not under version control): node
// tests/e2e/screens.mjs

import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { screenshot } from './harness.mjs';
import { open, part, type } from './steps.mjs';

const OUT = path.join(path.dirname(fileURLToPath(import.meta.url)), 'out');
const SHORT = 'v1&m=llama3-70b&n=16';
const PAIR = 'v1&m=llama2-13b&gpu=a100-40&n=16&z=2&b.gpu=h100-80&b.n=8&b.z=3';
mkdirSync(OUT, { recursive: true });

for (const colorScheme of ['light', 'dark']) {
  for (const [width, height] of [[1280, 720], [1440, 900]]) {
    const page = await open(undefined, { viewport: { width, height }, colorScheme });
    await screenshot(page, `${width}-${colorScheme}`, { fullPage: false });
    await screenshot(page, `${width}-${colorScheme}-full`);
    await page.close();
  }
  const phone = await open(undefined, { viewport: { width: 360, height: 740 }, colorScheme, touch: true });
  await screenshot(phone, `phone-${colorScheme}`, { fullPage: false });
  await screenshot(phone, `phone-${colorScheme}-full`);
  const short = await open(SHORT, { viewport: { width: 1280, height: 720 }, colorScheme });
  await screenshot(short, `does-not-fit-${colorScheme}`, { fullPage: false });
  const pair = await open(PAIR, { viewport: { width: 1440, height: 900 }, colorScheme });
  await screenshot(pair, `compare-${colorScheme}-full`);
  await part(pair, 'share').click();
  await pair.waitForTimeout(200);
  await screenshot(pair, `share-${colorScheme}`, { fullPage: false });
}

const contrast = await open(SHORT, { contrast: 'more' });
await screenshot(contrast, 'contrast-more', { fullPage: false });
const forced = await open(SHORT, { forcedColors: true });
await screenshot(forced, 'forced-colors', { fullPage: false });
const wrong = await open();
await type(wrong, 's', '-1');
await screenshot(wrong, 'invalid', { fullPage: false });
const narrow = await open(SHORT, { viewport: { width: 320, height: 640 } });
await screenshot(narrow, 'narrow-full');

// Paper: the PDF itself, and the sheet as the page draws it, A4 less its margins at 96 pixels an
// inch.
for (const [name, fragment] of [['printed', undefined], ['printed-short', SHORT], ['printed-compare', PAIR]]) {
  const printed = await open(fragment, { colorScheme: 'dark', viewport: { width: 703, height: 1032 } });
  await printed.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await screenshot(printed, name);
  await printed.pdf({ path: path.join(OUT, `${name}.pdf`), preferCSSPageSize: true, printBackground: true });
}
console.log(OUT);
process.exit(0);
