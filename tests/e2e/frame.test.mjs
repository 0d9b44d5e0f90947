// The first picture, which the build writes into the page's HTML, is what the program then shows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openPage } from './harness.mjs';

const words = (page, selector) => page.locator(selector).first().innerText();

test('the answer in the HTML is the answer of the app', async () => {
  const still = await openPage({ blockWasm: true });
  const live = await openPage();
  await live.locator('#app[data-live]').waitFor({ state: 'attached' });
  for (const place of ['h1', '.verdict__more', '.verdict__margin', '.stack__legend', '.bar__about']) {
    const text = await words(live, place);
    assert.equal(await words(still, place), text, place);
  }
});

test('nothing moves when the app takes over', async () => {
  for (const viewport of [{ width: 1280, height: 720 }, { width: 360, height: 740 }]) {
    const still = await openPage({ blockWasm: true, viewport });
    const live = await openPage({ viewport });
    await live.locator('#app[data-live]').waitFor({ state: 'attached' });
    for (const place of ['h1', '#stack', '#plot-seq', '#f-s']) {
      const before = await still.locator(place).first().boundingBox();
      const after = await live.locator(place).first().boundingBox();
      assert.ok(Math.abs(before.y - after.y) <= 2 && Math.abs(before.height - after.height) <= 2, `${place} moves: ${JSON.stringify({ before, after })}`);
    }
  }
});
