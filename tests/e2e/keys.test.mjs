// The model is its config.json: the form shows the keys that its family reads, links carry those that differ.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noConsoleErrors, single } from './harness.mjs';
import { answer, errorOf, input, link, open, part, reach, textOf, type, unfold, until } from './steps.mjs';

const LATER = '**/headroom-part-later-*';

test('a family shows its keys, and what is not stated follows what is', async () => {
  const page = await open('v1&m=gpt2&n=1');
  await reach(page, 'h');
  await until(async () => (await input(page, 'ff').count()) === 1);
  const keys = await page.locator('.field__key').allTextContents();
  assert.ok(keys.includes('hidden_size') && !keys.includes('kv_lora_rank'), keys.join());
  const before = (await answer(page)).headline;
  await type(page, 'h', '1536');
  assert.ok(await until(async () => (await input(page, 'ff').inputValue()).replace(/\D/g, '') === '6144'), 'four times as wide');
  assert.notEqual((await answer(page)).headline, before);
  assert.match(await link(page), /^v2&c=\w+&m=gpt2&hidden-size=1536&n=1$/);
  noConsoleErrors(page);
});

test('a link with keys opens with its answer, and keys that cannot go together are a sentence', async () => {
  const page = await open('v2&m=gpt2&hidden-size=1536&n=1');
  assert.match((await answer(page)).headline, /fit/i);
  await reach(page, 'ff');
  assert.equal((await input(page, 'ff').inputValue()).replace(/\D/g, ''), '6144');
  await type(page, 'h', '1537');
  assert.match(await textOf(errorOf(page, 'h')), /"hidden_size" \(1537\) must be a multiple of "num_attention_heads" \(12\)\./);
  await page.keyboard.press('Control+z');
  await unfold(page);
  assert.ok(await until(async () => (await errorOf(page, 'h').count()) === 0));
  noConsoleErrors(page);
});

test('a model is found by its repository in a link, at once and in a tab that shows another one', { skip: single }, async () => {
  const page = await open('v1&m=meta-llama/Meta-Llama-3-70B&gpu=H100&n=16');
  assert.match((await answer(page)).headline, /Llama 3 70B on 16 × H100 SXM5/);
  assert.match(await textOf(part(page, 'notices')), /“meta-llama\/Meta-Llama-3-70B” is listed here as Llama 3 70B/);
  const fresh = await open('v1&m=llama3-8b&n=8');
  await fresh.evaluate(() => { location.hash = 'v1&m=mistralai/Mistral-7B-v0.1&n=8'; });
  assert.ok(await until(async () => /Mistral 7B/.test((await answer(fresh)).headline)));
  noConsoleErrors(page);
  noConsoleErrors(fresh);
});

test('without the program that reads keys the page says so, and goes on once it comes', { skip: single }, async () => {
  const page = await open('v2&m=gpt2&hidden-size=1536&n=1', { prepare: (fresh) => fresh.route(LATER, (route) => route.abort()) });
  const told = () => page.locator('main').textContent();
  assert.ok(await until(async () => (await told()).includes('read by a part of this page that has not come yet')));
  await page.unroute(LATER);
  await page.mouse.move(200, 200);
  await page.mouse.move(220, 220);
  assert.ok(await until(async () => !(await told()).includes('has not come yet')), 'it came');
  assert.match(await link(page), /^v2&c=\w+&m=gpt2&hidden-size=1536&n=1$/);
});
