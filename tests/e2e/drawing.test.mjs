// Order of drawing: a page opened by a link never shows the answer in the HTML, and parts below the
// window are laid out after the first paint.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage } from './harness.mjs';
import { input, open, painted, part, ready } from './steps.mjs';

/** Changes an input without moving focus or scroll position. */
const change = (page, key, text) =>
  input(page, key).evaluate((element, value) => {
    element.value = value;
    element.dispatchEvent(new Event('input', { bubbles: true }));
  }, text);

test('a link’s page never shows the answer that stands in the HTML', async () => {
  const page = await openPage({
    fragment: 'v1&m=llama3-70b&n=64&z=2',
    prepare: (page) =>
      page.addInitScript(() => {
        globalThis.read = new Set();
        const look = () => {
          const clear = (element) => getComputedStyle(element).color === 'rgba(0, 0, 0, 0)';
          const visible = (element) => element.checkVisibility({ visibilityProperty: true }) && !clear(element);
          for (const element of document.querySelectorAll('h1, .bar__about, .strip, .stack, .curve, .field__input')) {
            if (visible(element)) globalThis.read.add(element.value ?? element.textContent);
          }
          requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      }),
  });
  await ready(page);
  await page.waitForTimeout(300);
  const read = await page.evaluate(() => [...globalThis.read].join(' | '));
  assert.match(read, /Llama 3 70B/);
  assert.doesNotMatch(read, /Llama 3 8B/);
  assert.equal(await page.locator('.answer').isVisible(), true);
});

/** Changes the length. Returns, for each time that the parts below began to wait or went on,
 * which of the two it was and the ledger's total at that time. */
async function waits(page, length) {
  await page.evaluate(() => {
    const below = document.querySelector('.below');
    globalThis.waited = [];
    const look = () => globalThis.waited.push([below.hasAttribute('data-waits'), below.querySelector('[data-testid="total"]').textContent]);
    globalThis.looking?.disconnect();
    globalThis.looking = new MutationObserver(look);
    globalThis.looking.observe(below, { attributeFilter: ['data-waits'] });
  });
  await change(page, 's', length);
  await painted(page);
  return page.evaluate(() => globalThis.waited);
}

test('what begins below the window is laid out after the picture, and its words stand before it', async () => {
  const page = await open(undefined, { viewport: { width: 1280, height: 720 } });
  const height = () => page.evaluate(() => document.documentElement.scrollHeight);
  const total = () => part(page, 'total').textContent();
  const [before, was] = [await height(), await total()];
  const seen = await waits(page, '4096');
  assert.deepEqual(seen.map(([waiting]) => waiting), [true, false]);
  assert.notEqual(await total(), was);
  assert.deepEqual(seen.map(([, text]) => text), [await total(), await total()], 'the ledger is written with all others');
  assert.ok(Math.abs((await height()) - before) < 40, 'the page keeps its height');
});

test('what is in sight or has the focus never waits', async () => {
  const page = await open(undefined, { viewport: { width: 1280, height: 720 } });
  await part(page, 'ledger').getByRole('button').first().evaluate((button) => button.focus({ preventScroll: true }));
  assert.deepEqual(await waits(page, '4096'), [], 'the focus is in the ledger');
  await page.evaluate(() => document.activeElement.blur());
  assert.equal((await waits(page, '2048')).length, 2);
  await part(page, 'ledger').evaluate((element) => element.scrollIntoView({ behavior: 'instant', block: 'center' }));
  await painted(page);
  assert.deepEqual(await waits(page, '16k'), [], 'the ledger is in sight');
  await page.evaluate(() => scrollTo({ top: document.documentElement.scrollHeight, behavior: 'instant' }));
  await painted(page);
  assert.deepEqual(await waits(page, '8192'), [], 'the end of the page is in sight');
});
