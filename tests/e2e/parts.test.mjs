// The program's part with modules that few models have is fetched when a scenario needs it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noConsoleErrors, single } from './harness.mjs';
import { answer, open, part, pick, sameAsCommand, until } from './steps.mjs';

const PART = /headroom-part-rare-[0-9a-f]+\.wasm$/;
const HEADLINE = /(takes|needs) [\d.,]+ (of [\d.]+ )?GiB/;

/** Opens the page and records the addresses of the parts that it requests; while `network.there`
 * is false, requests fail. */
async function opened(fragment, network = { there: true }) {
  const asked = [];
  const prepare = (page) =>
    page.route(PART, async (route) => {
      asked.push(route.request().url());
      await network.comes;
      return network.there ? route.continue() : route.abort();
    });
  return { page: await open(fragment, { prepare }), asked };
}

const skip = single && 'the single file has all parts inside';

test('no part is fetched for a model of the common form', { skip }, async () => {
  const { page, asked } = await opened('v2&m=qwen3-8b');
  assert.match((await answer(page)).headline, /Qwen3 8B/);
  await part(page, 'mode-serve').click();
  assert.ok(await until(async () => /serving/i.test((await answer(page)).headline)), 'the model is not served');
  assert.deepEqual(asked, []);
  noConsoleErrors(page);
});

test('a link to a model of another form is answered as the command does', { skip }, async () => {
  for (const fragment of ['v2&m=gpt2-xl', 'v2&m=gemma3-4b-vision', 'v2&m=qwen3-next-80b-a3b&do=serve', 'v2&m=llama3-8b&ker=megatron']) {
    const { page, asked } = await opened(fragment);
    assert.equal(asked.length, 1, fragment);
    assert.match((await answer(page)).headline, HEADLINE);
    await sameAsCommand(page);
    noConsoleErrors(page);
  }
});

test('a model of another form is answered once its part has come, and undo leads back', { skip }, async () => {
  const { page, asked } = await opened();
  const before = (await answer(page)).headline;
  await pick(page, 'm', 'gpt-2 xl', 'GPT-2 XL');
  const after = await until(async () => /GPT-2 XL/.test((await answer(page)).headline) && answer(page));
  assert.match(after.headline, HEADLINE);
  assert.equal(asked.length, 1);
  await page.keyboard.press('Control+z');
  assert.equal(await until(async () => (await answer(page)).headline === before), true);
  noConsoleErrors(page);
});

test('while its part is on its way the card says so, and no field is red', { skip }, async () => {
  let come;
  const network = { there: true, comes: new Promise((done) => (come = done)) };
  const { page } = await opened(undefined, network);
  await pick(page, 'm', 'gpt-2 xl', 'GPT-2 XL');
  assert.ok(await until(async () => /is being fetched/.test(await part(page, 'stale').innerText())), 'the card does not say that a part is fetched');
  assert.equal(await part(page, 'error-m').count(), 0);
  come();
  await part(page, 'stale').waitFor({ state: 'detached' });
  assert.match((await answer(page)).headline, /GPT-2 XL/);
  noConsoleErrors(page);
});

test('without a network the page says what is missing, keeps its answer, and tries again', { skip }, async () => {
  const network = { there: false };
  const { page, asked } = await opened(undefined, network);
  const before = (await answer(page)).headline;
  await pick(page, 'm', 'gpt-2 xl', 'GPT-2 XL');
  assert.ok(await until(async () => /could not be fetched/.test(await page.locator('[data-own=notices]').innerText())), 'no notice says what is missing');
  assert.equal((await answer(page)).headline, before);
  network.there = true;
  await pick(page, 'm', 'gpt-2 large', 'GPT-2 large');
  assert.ok(await until(async () => /GPT-2 large/.test((await answer(page)).headline)), 'it is not tried again');
  assert.ok(asked.length >= 2);
});

/** The part that carries out clicks and forms. */
const LATER = /headroom-part-later-[0-9a-f]+\.wasm$/;

test('what is clicked before the later part has come happens once it is there', { skip }, async () => {
  let come;
  const comes = new Promise((done) => (come = done));
  const page = await open(undefined, {
    prepare: (page) =>
      page.route(LATER, async (route) => {
        await comes;
        return route.continue();
      }),
  });
  await part(page, 'mode-serve').click();
  await part(page, 'share').click();
  await page.waitForTimeout(300);
  assert.equal(await page.locator('#dialog-share').isVisible(), false);
  assert.doesNotMatch((await answer(page)).headline, /serving/i);
  come();
  await page.locator('#dialog-share').waitFor({ state: 'visible' });
  assert.ok(await until(async () => /serving/i.test((await answer(page)).headline)), 'the first click is lost');
  noConsoleErrors(page);
});

test('a click that needs a part out of reach says so, and the next one fetches it', { skip }, async () => {
  let there = false;
  const page = await open(undefined, {
    prepare: (page) => page.route(LATER, (route) => (there ? route.continue() : route.abort())),
  });
  await part(page, 'mode-serve').click();
  assert.ok(await until(async () => /could not be fetched/.test(await page.locator('[data-own=notices]').innerText())), 'no notice says what is missing');
  there = true;
  await part(page, 'mode-serve').click();
  assert.ok(await until(async () => /serving/i.test((await answer(page)).headline)), 'it is not tried again');
});
