// Answers of PyTorch's allocator: after a pause, the verdict, the counts of GPUs and the remaining
// room come from its replay.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, noConsoleErrors, screenshot } from './harness.mjs';
import { open, part, textOf, type, until } from './steps.mjs';

/** A job whose tensors take 25.1 of 25.5 GiB, but do not fit because of gaps between them. */
const GAPS = 'v1&m=llama3-8b&n=8&mem=25.5';

/** Waits until a part's text matches. */
const says = async (page, name, words) => {
  await until(async () => words.test(await textOf(part(page, name))));
  const text = await textOf(part(page, name));
  assert.match(text, words);
  return text;
};

for (const [name, viewport] of [['a desktop', { width: 1280, height: 800 }], ['a phone', { width: 360, height: 740 }]]) {
  test(`on ${name} a training whose tensors fit and whose allocator finds no room runs out of memory`, async () => {
    const page = await open(GAPS, { viewport });
    await says(page, 'verdict', /^Runs out of memory\. Training Llama 3 8B on 8 × H100 SXM5/);
    await says(page, 'verdict', /short on each GPU/);
    await says(page, 'gpu-runnable', /^16 GPUs$/);
    await says(page, 'gpu-reason', /On 8 GPUs the tensors would fit/);
    await says(page, 'device-warning', /runs out of memory/);
    await says(page, 'fixes', /It would fit with:sequences of \d/);
    assert.ok((await page.locator('#warning button').count()) > 0);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    await screenshot(page, `allocator-${viewport.width}`, { fullPage: false });
    await axe(page);
    noConsoleErrors(page);
  });
}

test('a change of the warning makes it run, and the answer is the allocator\'s again', async () => {
  const page = await open(GAPS);
  await says(page, 'verdict', /^Runs out of memory\./);
  await page.locator('#warning button').first().click();
  await says(page, 'verdict', /^(Fits|Just fits|Fits, but tight)/);
  await until(async () => (await part(page, 'device-warning').count()) === 0);
  assert.equal(await part(page, 'device-warning').count(), 0);
  await page.keyboard.press('Control+z');
  await says(page, 'verdict', /^Runs out of memory\./);
  noConsoleErrors(page);
});

test('room is about as much until the allocator was asked', async () => {
  const page = await open();
  assert.match(await textOf(part(page, 'fixes')), /sequences of about \d/);
  // Where half of the memory stays free, the worker program is not fetched for the replay.
  await type(page, 'mem', '30');
  await says(page, 'fixes', /sequences of \d.*micro-batch of \d/);
  await part(page, 'mode-serve').click();
  await says(page, 'fixes', /\d requests at once on each replica/);
  noConsoleErrors(page);
});
