// When the program cannot start or has stopped, a static overlay shows the link and a way to
// continue.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, openPage, PROGRAMS } from './harness.mjs';
import { address, answer, link, open, plain, ready, type } from './steps.mjs';

const overlay = (page) => page.locator('#stopped');

/**
 * Makes the program panic for real. It reads the clock while it records a step of undo, and here
 * the clock presses Ctrl+Z at that moment. The change that is being made is then lost.
 */
const panic = async (page) => {
  await page.evaluate(() => {
    performance.now = () => {
      document.dispatchEvent(new KeyboardEvent('keydown', { key: 'z', ctrlKey: true }));
      return 0;
    };
  });
  await type(page, 's', '4096');
};

test('a panic shows the overlay with the link of what was shown, and reloading brings it back', async () => {
  const page = await open('v1&n=16');
  await type(page, 'n', '64');
  const fragment = await address(page);
  const before = await answer(page);
  assert.equal(await overlay(page).isVisible(), false);
  await panic(page);
  await overlay(page).waitFor({ state: 'visible', timeout: 20_000 });
  assert.equal(plain(await page.locator('#stopped-link').textContent()), `${page.url().split('#')[0]}#${fragment}`);
  assert.equal(await overlay(page).getAttribute('role'), 'alertdialog');
  await page.getByRole('button', { name: 'Reload the page' }).click();
  await ready(page);
  assert.deepEqual(await answer(page), before);
  assert.equal(await link(page), fragment);
});

test('the overlay can be closed, so that the last answer can be read and copied', async () => {
  const page = await open('v1&n=16');
  await panic(page);
  await overlay(page).waitFor({ state: 'visible', timeout: 20_000 });
  await page.getByRole('button', { name: 'Close this message' }).click();
  assert.equal(await overlay(page).isVisible(), false);
  assert.match((await answer(page)).headline, /on 16 ×/);
});

test('the program cannot be loaded: the frame, and why nothing moves', async () => {
  for (const block of [
    (page) => page.route(PROGRAMS, (route) => route.abort()),
    (page) => page.route(PROGRAMS, (route) => route.fulfill({ status: 404, body: 'not found' })),
    (page) => page.route(PROGRAMS, (route) => route.fulfill({ status: 200, contentType: 'application/wasm', body: 'no program' })),
    (page) => page.route('**/headroom-page-*.js', (route) => route.fulfill({ status: 404, body: 'not found' })),
    (page) => page.addInitScript(() => delete globalThis.WebAssembly),
  ]) {
    const page = await openPage({ fragment: 'v1&n=16', prepare: block });
    await overlay(page).waitFor({ state: 'visible', timeout: 20_000 });
    assert.match(plain(await overlay(page).textContent()), /needs WebAssembly/);
    assert.match(plain(await page.locator('#stopped-link').textContent()), /#v1&n=16$/);
    // Behind the overlay is the answer to the default scenario.
    await page.getByRole('button', { name: 'Close this message' }).click();
    assert.match(plain(await page.locator('h1').first().textContent()), /Llama 3 8B on 8 × H100 SXM5/);
    assert.ok(await page.locator('h1').first().isVisible());
    await axe(page);
  }
});

test('without JavaScript: the default answer, and what the page needs', async () => {
  const page = await openPage({ javaScript: false });
  assert.match(plain(await page.locator('h1').first().textContent()), /Llama 3 8B on 8 × H100 SXM5/);
  assert.match(await page.locator('body').innerText(), /needs JavaScript and WebAssembly/);
  assert.equal(await overlay(page).isVisible(), false);
});
