// Pictures of the page for people to look at, in tests/e2e/out (not under version control): node tests/e2e/screens.mjs
// The printed page is a PDF; where pdftoppm is installed, also a picture.

import { spawnSync } from 'node:child_process';
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

const printed = await open(SHORT, { colorScheme: 'dark' });
const pdf = path.join(OUT, 'printed.pdf');
await printed.pdf({ path: pdf, preferCSSPageSize: true, printBackground: true });
const drawn = spawnSync('pdftoppm', ['-r', '80', '-png', pdf, path.join(OUT, 'printed')]);
console.log(drawn.error ? 'printed.pdf: install poppler-utils for a picture of it' : 'printed.pdf and its picture');
console.log(OUT);
process.exit(0);
