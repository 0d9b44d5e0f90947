// Memory over one step, and the panel about its accuracy; both come with the worker program.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, noConsoleErrors, noForeignRequests, single } from './harness.mjs';
import { answer, fetched, open, part, plain, textOf, type } from './steps.mjs';

const training = 'v1&m=llama3-8b&n=8&z=3';

for (const [name, viewport, size] of [['a desktop', { width: 1280, height: 800 }, 'wide'], ['a phone', { width: 360, height: 740 }, 'narrow']]) {
  test(`on ${name} the step shows two pictures, its peak in a sentence, and its moments as a table`, async () => {
    const page = await open(training, { viewport });
    const panel = await fetched(page, 'timeline');
    const { total } = await answer(page);
    const sentence = await textOf(part(page, 'step-peak'));
    assert.match(sentence, /^Peak: (when|during|before) .+\. [\d.\s]+ GiB of [a-z ]+ and [\d.\s]+ GiB of [a-z ]+, of [\d.\s]+ GiB in all\./);
    assert.ok(sentence.includes(`of ${total} in all`), `${sentence} ${total}`);
    assert.match(await textOf(part(page, 'step-first')), /step|Step 1/);
    for (const which of ['step-1', 'step-2']) {
      const pictures = part(page, which).locator('svg');
      assert.equal(await pictures.count(), 2);
      const shown = part(page, which).locator(`.step__${size} svg`);
      assert.equal(await shown.isVisible(), true);
      const words = (await shown.locator('text').allTextContents()).map(plain);
      for (const phase of ['forward', 'backward', 'optimizer']) assert.ok(words.includes(phase), words.join(' | '));
      assert.ok(words.some((text) => text.startsWith('peak ')), words.join(' | '));
    }
    await panel.locator('summary').click();
    const rows = (await part(page, 'step-moments').locator('tbody tr').allTextContents()).map(plain);
    assert.ok(rows.length >= 7, rows.join(' | '));
    assert.match(rows[0], /^forward ?embedding/);
    assert.equal(await part(page, 'step-moments').locator('tr.table__total').count(), 1);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    await axe(page);
    await noForeignRequests(page);
    noConsoleErrors(page);
  });
}

test('the step follows the scenario, gives way to requests when serving, and comes back', async () => {
  const page = await open(training);
  await fetched(page, 'timeline');
  const before = await textOf(part(page, 'step-peak'));
  await type(page, 's', '16384');
  await fetched(page, 'timeline');
  assert.notEqual(await textOf(part(page, 'step-peak')), before);
  await part(page, 'mode-serve').click();
  await fetched(page, 'timeline');
  assert.equal(await part(page, 'step-peak').count(), 0);
  assert.match(await textOf(part(page, 'serving')), /^More requests at once/);
  await part(page, 'mode-tune').click();
  await fetched(page, 'timeline');
  assert.match(await textOf(part(page, 'step-peak')), /^Peak: /);
  await part(page, 'mode-train').click();
  await fetched(page, 'timeline');
  assert.match(await textOf(part(page, 'step-peak')), /^Peak: /);
  noConsoleErrors(page);
});

test('a stack that is not played says so and shows its moments', async () => {
  const page = await open('v1&m=llama3-8b&n=8&ker=megatron');
  await fetched(page, 'timeline');
  assert.match(await textOf(part(page, 'timeline')), /not played operation by operation/);
  assert.equal(await part(page, 'timeline').locator('svg').count(), 0);
  assert.ok((await part(page, 'step-moments').locator('tbody tr').count()) > 1);
});

test('the accuracy table has its stacks, its worst rows, and a link to how it is checked', { skip: single && 'the README is a file of its own' }, async () => {
  const page = await open(training);
  await fetched(page, 'accuracy');
  assert.ok((await part(page, 'accuracy-table').locator('tbody tr').count()) >= 8);
  const worst = part(page, 'accuracy-worst');
  assert.deepEqual(await worst.locator('th[scope="rowgroup"]').allTextContents(), ['Time', 'Memory and counts', 'Memory under frameworks']);
  assert.equal(await worst.locator('tbody th[scope="row"]').count(), 15);
  const sources = await worst.getByRole('link').all();
  assert.ok(sources.length > 0, 'no row links to what was published');
  for (const source of sources) assert.match(await source.getAttribute('href'), /^https:\/\/(github\.com\/.+\/blob\/[0-9a-f]{7,40}\/|gist\.github\.com\/\w+\/[0-9a-f]{32}#)/);
  const link = part(page, 'accuracy').getByRole('link', { name: 'How it is checked' });
  assert.match(await link.getAttribute('href'), /README\.md#how-well-it-is-checked$/);
  assert.equal(await page.evaluate(async () => (await fetch('./README.md')).ok), true);
  await axe(page);
});

test('the chosen stack says in sight what it means', async () => {
  const page = await open('v1&m=llama3-8b&n=8&ker=eager&fam=generic');
  assert.match(await textOf(part(page, 'stack-says')), /^transformers.*assumed This model type has no modules of its own here/);
});
