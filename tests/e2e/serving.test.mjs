// Serving: answers beside the ledger, memory and speed by number of requests, and fixes that make
// room for more requests.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, noConsoleErrors, screenshot } from './harness.mjs';
import { answer, bytesOf, choose, fetched, link, noBrokenNumbers, open, part, pasteText, pick, plain, reach, sameAsCommand, textOf, type, until } from './steps.mjs';

const serving = 'v1&do=serve&m=llama3-8b&n=1&srv=vllm';

for (const [name, viewport, size] of [['a desktop', { width: 1280, height: 800 }, 'wide'], ['a phone', { width: 360, height: 740 }, 'narrow']]) {
  test(`on ${name} requests have two curves and a table, and each point opens as a scenario`, async () => {
    const page = await open(serving, { viewport });
    const panel = await fetched(page, 'timeline');
    for (const which of ['serving-memory', 'serving-pace']) {
      assert.equal(await part(page, which).locator(`.step__${size} svg`).first().isVisible(), true, which);
    }
    const words = (await part(page, 'serving-memory').locator(`.step__${size} text`).allTextContents()).map(plain);
    assert.ok(words.some((text) => text.startsWith('fits to ')), words.join(' | '));
    await panel.locator('summary').click();
    const rows = (await part(page, 'serving-table').locator('tbody tr').allTextContents()).map(plain);
    assert.ok(rows.length > 15 && rows.every((row) => /(memory bandwidth|matrix products)$/.test(row)), rows.join(' | '));
    assert.equal(await part(page, 'serving-table').locator('tr.table__total').count(), 1);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    await noBrokenNumbers(page);
    await axe(page);
    const before = await link(page);
    await part(page, 'serving-pace').locator(`.step__${size} a`).last().focus();
    await page.keyboard.press('Enter');
    assert.notEqual(await link(page), before);
    assert.match(await link(page), /seqs=\d+/);
    await page.keyboard.press('Control+z');
    assert.equal(await link(page), before);
    noConsoleErrors(page);
  });
}

test('what makes room for more does what it says, as one step of undo', async () => {
  const page = await open(serving);
  await fetched(page, 'timeline');
  const before = await link(page);
  const button = part(page, 'serving-more').getByRole('button').first();
  const promised = Number((await textOf(button)).match(/→ ([\d ]+) requests/)[1].replace(/ /g, ''));
  await button.click();
  await sameAsCommand(page);
  for (const [count, fits] of [[promised, true], [promised + 1, false]]) {
    await type(page, 'seqs', String(count));
    assert.equal(/^Fits/.test((await answer(page)).headline), fits, `${count} requests`);
  }
  for (let step = 0; step < 3; step += 1) await page.keyboard.press('Control+z');
  assert.equal(await link(page), before);
  noConsoleErrors(page);
});

test('a server says what it prints: tokens, blocks and concurrency', async () => {
  const page = await open(serving);
  const words = async () => textOf(part(page, 'facts'));
  const read = async () => Number((await words()).match(/Maximum concurrency.*?([\d.]+)×/)[1]);
  assert.match(await words(), /as vLLM takes it.*blocks of 16 tokens.*Maximum concurrency/);
  const of8k = await read();
  await type(page, 'ctx', '16k');
  const of16k = await until(async () => {
    const now = await read();
    return now !== of8k && now;
  });
  assert.ok(Math.abs(of8k / of16k - 2) < 0.1, `${of8k} and ${of16k}`);
  await choose(page, 'srv', 'none');
  assert.ok(await until(async () => /by no engine's rule/.test(await words())), await words());
  noConsoleErrors(page);
});

test('an encoder is pasted while a model is served: refused in a sentence, and trained by one click', async () => {
  const page = await open('v1&do=serve&n=1');
  await pasteText(page, JSON.stringify({ model_type: 'bert', num_hidden_layers: 12 }));
  await part(page, 'paste-report').waitFor();
  await part(page, 'paste-use').click();
  const problem = part(page, 'error-do');
  await problem.waitFor();
  assert.match(await textOf(problem), /Serving it is not modelled here; training it is\./);
  assert.equal(await part(page, 'stale').isVisible(), true);
  await axe(page);
  await problem.getByRole('button', { name: 'Train it' }).click();
  await problem.waitFor({ state: 'detached' });
  assert.equal(await part(page, 'mode-train').getAttribute('aria-pressed'), 'true');
  await sameAsCommand(page);
  noConsoleErrors(page);
});

test('a model whose layers keep a state is pasted and served: its cache does not grow with the text', async () => {
  const page = await open('v1&n=4&tp=4');
  const first = await link(page);
  const config = { model_type: 'recurrent_gemma', num_hidden_layers: 26 };
  await pasteText(page, JSON.stringify(config));
  await part(page, 'paste-report').waitFor();
  assert.match(await textOf(part(page, 'paste-report')), /mixer_layers.*18 of 26.*attention_layers.*8 of 26/);
  await part(page, 'paste-use').click();
  assert.ok(await until(async () => /RecurrentGemma/.test((await answer(page)).headline)), 'the model is not used');
  await part(page, 'mode-serve').click();
  assert.ok(await until(async () => /[Ss]erving RecurrentGemma/.test((await answer(page)).headline)), 'the model is not served');
  assert.equal(await part(page, 'mode-serve').getAttribute('aria-pressed'), 'true');
  await sameAsCommand(page);
  // The cache stays equal, because neither a state nor a window grows with the text.
  const cached = async () => bytesOf(await sameAsCommand(page), 'KV cache');
  const before = await cached();
  await type(page, 'ctx', '16k');
  const after = await cached();
  assert.equal(after, before);
  await fetched(page, 'timeline');
  await noBrokenNumbers(page);
  assert.ok((await link(page)).length <= 200, await link(page));
  for (let step = 0; step < 3; step += 1) await page.keyboard.press('Control+z');
  assert.equal(await link(page), first);
  noConsoleErrors(page);
});

/** The text of the figures at the card's load. */
const loadOf = (page) => textOf(part(page, 'load'));

for (const [name, options] of [['a desktop', { viewport: { width: 1280, height: 800 } }], ['a phone', { viewport: { width: 390, height: 844 } }]]) {
  test(`on ${name} 200 users are answered on the first screen: GPUs, times and price at their load`, async () => {
    const page = await open(undefined, options);
    await part(page, 'mode-serve').click();
    await pick(page, 'm', 'llama 3 70b', 'Llama 3 70B');
    await pick(page, 'gpu', 'h200', 'H200 SXM');
    // The replica's size is adapted to the model and the GPU: the smallest that runs.
    assert.match(await link(page), /(do=serve&gpu=h200|gpu=h200&do=serve)&n=2&tp=2&price=4\.45$/);
    await type(page, 'usr', '200');
    assert.match((await answer(page)).headline, /^Does not fit for these users\. 200 users need \d+ × H200 SXM, \d+ replicas of \d; 2 × H200 SXM here hold \d+\.$/);
    const before = await link(page);
    const needed = await sameAsCommand(page);
    const { fewest, own } = needed.serving.users;
    assert.ok(!needed.serving.users.carried && own.replicas * own.room_each < 200 && fewest.replicas * fewest.room_each >= 200);
    assert.match(await loadOf(page), /Time to first token.*Tokens per second per user.*Tokens per second in all.*Price of a million tokens.*With all 200 users active at once on/);
    const [load, card] = await Promise.all([part(page, 'load').boundingBox(), part(page, 'verdict').boundingBox()]);
    assert.ok(load.width <= card.width && card.x + card.width <= options.viewport.width);
    if (name === 'a desktop') assert.ok(load.y + load.height <= options.viewport.height, 'the figures stand on the first screen');
    await screenshot(page, `serving-users-needed-${name.replace('a ', '')}`);
    await axe(page);
    await part(page, 'use-users').click();
    const words = (await answer(page)).headline;
    const carried = `200 users: ${fewest.gpus} × H200 SXM, ${fewest.replicas} replicas of ${fewest.tensor_parallel}. Llama 3 70B takes `;
    assert.ok([`Fits. ${carried}`, `Fits, tightly. ${carried}`].some((start) => words.startsWith(start)), words);
    const taken = await sameAsCommand(page);
    assert.ok(['fits', 'tight'].includes(taken.verdict));
    assert.deepEqual([taken.serving.users.own.gpus, taken.serving.users.own.time], [fewest.gpus, fewest.time]);
    assert.equal(await part(page, 'use-users').count(), 0);
    await screenshot(page, `serving-users-${name.replace('a ', '')}`);
    await noBrokenNumbers(page);
    await page.keyboard.press('Control+z');
    assert.equal(await link(page), before);
    await type(page, 'usr', '2');
    assert.match((await answer(page)).headline, /^Fits\. 2 users: 2 × H200 SXM, 1 replica of 2\. /);
    noConsoleErrors(page);
  });
}

test('serving begins with one GPU, follows what it needs, and keeps what was set through modes and undo', async () => {
  const page = await open();
  const layout = async () => Promise.all(['n', 'tp'].map(async (key) => plain(await (await reach(page, key)).inputValue())));
  await part(page, 'mode-serve').click();
  assert.deepEqual(await until(async () => (await layout())[0] === '1' && layout()), ['1', '1']);
  await pick(page, 'm', 'llama 3 70b', 'Llama 3 70B');
  assert.deepEqual(await until(async () => (await layout())[0] === '4' && layout()), ['4', '4']);
  assert.match((await answer(page)).headline, /^Fits/);
  await part(page, 'mode-train').click();
  assert.deepEqual(await until(async () => (await layout())[0] === '8' && layout()), ['8', '1']);
  await part(page, 'mode-serve').click();
  await type(page, 'n', '8');
  assert.deepEqual(await until(async () => (await layout())[0] === '8' && layout()), ['8', '4']);
  await part(page, 'mode-train').click();
  assert.deepEqual(await until(async () => (await layout())[1] === '1' && layout()), ['8', '1']);
  await part(page, 'mode-serve').click();
  assert.deepEqual(await until(async () => (await layout())[1] === '4' && layout()), ['8', '4']);
  // Two presses at once are two steps of undo, however quickly the second one follows.
  await part(page, 'mode-train').click();
  await part(page, 'mode-serve').click();
  for (let step = 0; step < 5; step += 1) await page.keyboard.press('Control+z');
  assert.deepEqual(await until(async () => (await layout())[0] === '4' && layout()), ['4', '4']);
  // The search over layouts is for training only. The curve by GPUs shows one replica and begins
  // with one GPU.
  assert.equal(await part(page, 'planner').isVisible(), false);
  assert.equal(await page.locator('#plot-gpus').getAttribute('aria-valuemin'), '1');
  noConsoleErrors(page);
});

test('an old link to serving means the eight GPUs that it always meant', async () => {
  const page = await open('v1&do=serve&m=llama3-8b');
  assert.match((await answer(page)).headline, /on 8 × H100/);
  await pick(page, 'm', 'llama 3 70b', 'Llama 3 70B');
  assert.match((await answer(page)).headline, /on 8 × H100/);
  noConsoleErrors(page);
});
