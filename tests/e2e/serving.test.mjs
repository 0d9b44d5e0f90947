// Serving: the answers beside the ledger, memory and speed by requests, and what makes room for more of them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, noConsoleErrors } from './harness.mjs';
import { answer, bytesOf, choose, fetched, link, noBrokenNumbers, open, part, plain, sameAsCommand, textOf, type, until } from './steps.mjs';

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
  assert.ok(await until(async () => /with no rule of a server/.test(await words())), await words());
  noConsoleErrors(page);
});

test('a model whose layers keep a state is pasted, refused for training, and served by one click', async () => {
  const page = await open('v1&n=4&tp=4');
  const first = await link(page);
  await part(page, 'paste').click();
  const config = { model_type: 'qwen3_next', num_hidden_layers: 48, max_position_embeddings: 262144, mamba_ssm_dtype: 'float32' };
  await part(page, 'paste-text').fill(JSON.stringify(config));
  await part(page, 'paste-report').waitFor();
  assert.match(await textOf(part(page, 'paste-report')), /mixer_layers.*36 of 48.*attention_layers.*12 of 48/);
  await part(page, 'paste-use').click();
  const problem = part(page, 'error-do');
  await problem.waitFor();
  assert.match(await textOf(problem), /What it takes to train them is not modelled here; serving is\./);
  assert.equal(await part(page, 'stale').isVisible(), true);
  await axe(page);
  await problem.getByRole('button', { name: 'Serve it' }).click();
  await problem.waitFor({ state: 'detached' });
  assert.equal(await part(page, 'mode-serve').getAttribute('aria-pressed'), 'true');
  await sameAsCommand(page);
  // What every sequence keeps does not grow with the text: twice the context is less than twice the cache.
  const cached = async () => bytesOf(await sameAsCommand(page), 'KV cache');
  const before = await cached();
  await type(page, 'ctx', '16k');
  const after = await cached();
  assert.ok(after > 1.1 * before && after < 1.95 * before, `${before} ${after}`);
  await fetched(page, 'timeline');
  await noBrokenNumbers(page);
  assert.ok((await link(page)).length <= 200, await link(page));
  for (let step = 0; step < 3; step += 1) await page.keyboard.press('Control+z');
  assert.equal(await link(page), first);
  noConsoleErrors(page);
});
