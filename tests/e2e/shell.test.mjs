// The page's shell: its behaviour before the app starts and without it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, bytesLoaded, noConsoleErrors, noForeignRequests, openPage, requestsOf, single } from './harness.mjs';
import { until } from './steps.mjs';

// The limit of the first load in bytes after gzip, as in xtask/src/sizes.rs.
const FIRST_LOAD_BUDGET = 480_000;

for (const [name, options] of [['WebAssembly', { blockWasm: true }], ['JavaScript', { javaScript: false }]]) {
  test(`without ${name} the page says what it is and what it needs`, { skip: single && name === 'WebAssembly' && 'no file that could be blocked' }, async () => {
    const page = await openPage(options);
    assert.match(await page.title(), /Headroom/);
    assert.ok(await page.locator('h1').first().isVisible());
    // Reads the whole body, because locators do not look into noscript.
    const says = () => page.locator('body').innerText();
    await until(async () => /needs/.test(await says()));
    assert.match(await says(), /needs (JavaScript and )?WebAssembly/);
    await noForeignRequests(page);
  });
}

test('the first visit is small, stays on its own address and logs no error', { skip: single && 'it is one file' }, async () => {
  const page = await openPage();
  await page.waitForLoadState('networkidle');
  for (const request of requestsOf(page)) {
    const response = await request.response();
    assert.equal(response?.status() ?? 200, 200, request.url());
  }
  await noForeignRequests(page);
  noConsoleErrors(page);
  const bytes = await bytesLoaded(page);
  console.log(`first load: ${bytes} bytes after gzip`);
  assert.ok(bytes <= FIRST_LOAD_BUDGET, `${bytes} bytes`);
});

test('what is hidden is not there to see', async () => {
  const page = await openPage();
  await page.waitForLoadState('networkidle');
  const seen = await page.evaluate(() =>
    [...document.querySelectorAll('[hidden]')].filter((element) => getComputedStyle(element).display !== 'none').map((element) => element.outerHTML),
  );
  assert.deepEqual(seen, []);
});

test('axe finds nothing in the first state', async () => {
  const page = await openPage();
  await page.waitForLoadState('networkidle');
  await axe(page);
});
