// The worker program: it is fetched when it is needed, its panels are right, and the page reports
// when it cannot be fetched.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, noConsoleErrors, noForeignRequests, requestsOf } from './harness.mjs';
import { FAR_RESTS_MS, address, answer, fetched, input, link, open, part, pasteText, plain, reach, textOf, type } from './steps.mjs';

const CONFIG = '{ /* as in the wild */ "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256, "rope_theta": Infinity, }';

const requested = (page) => requestsOf(page).map((request) => request.url()).filter((url) => url.includes('headroom-worker'));
const again = (page, id) => page.locator(`#${id}`).getByRole('button', { name: 'Try again' });
const OUT_OF_REACH = /^This part of the page could not be fetched; the answer does not need it\./;

for (const [name, viewport] of [['a desktop', { width: 1280, height: 800 }], ['a phone', { width: 360, height: 740 }]]) {
  test(`on ${name} the second program comes with the panels that need it, once, and not before`, async () => {
    const page = await open('v1&n=16', { viewport });
    await page.waitForLoadState('networkidle');
    await type(page, 'n', '32');
    await page.waitForTimeout(500);
    // A worker may look for layouts meanwhile; none was asked for a panel.
    const searching = page.workers().length;
    assert.equal(requested(page).length, 2 * searching, requested(page).join(' '));
    assert.equal(await textOf(page.locator('#methods')), 'This part of the page is being fetched.');
    await fetched(page, 'methods');
    await fetched(page, 'evidence');
    assert.equal(page.workers().length, searching + 1, 'one worker for all panels');
    assert.equal(requested(page).length, 2 * page.workers().length, requested(page).join(' '));
    assert.ok((await page.locator('tr[data-testid^="methods-row-"]').count()) > 8);
    assert.match(await textOf(part(page, 'sources')), /Where the scenario starts from.*Assumed amounts, yours to change.*Sources of this answer/);
    await noForeignRequests(page);
    noConsoleErrors(page);
  });
}

test('the panels follow the scenario, what was unfolded stays so, and late answers are dropped', async () => {
  const page = await open('v1&n=16');
  await fetched(page, 'methods');
  const sheet = part(page, 'methods-ju-2026');
  await sheet.locator('summary').click();
  assert.match(await textOf(sheet), /How it counts.*Its own example: from 924 GPUs to 8/);
  const before = await textOf(sheet);
  for (const gpus of ['32', '64', '128', '8', '24']) await type(page, 'n', gpus);
  await part(page, 'unit-GB').click();
  await fetched(page, 'methods');
  assert.notEqual(await textOf(sheet), before);
  assert.equal(await sheet.evaluate((element) => element.open), true);
  // The engine's column shows the ledger of the present scenario.
  const { total } = await answer(page);
  assert.equal(await textOf(part(page, 'methods-row-total').locator('td').first()), total);
  // With an invalid input, the panel keeps the answer to the last valid scenario.
  await type(page, 'n', 'many');
  await fetched(page, 'methods');
  assert.equal(await textOf(part(page, 'methods-row-total').locator('td').first()), total);
  await part(page, 'document-errors').locator('summary').click();
  assert.match(await textOf(part(page, 'document-errors')), /Arithmetic mistakes in these documents\s*\d+/);
  noConsoleErrors(page);
});

for (const [name, pattern] of [['script', '**/headroom-worker-*.js'], ['program', '**/headroom-worker-*.wasm']]) {
  test(`without its ${name} the page says so in one sentence, goes on, and tries again when asked`, async () => {
    const page = await open('v1&n=16', { prepare: (fresh) => fresh.route(pattern, (route) => route.abort()) });
    await page.locator('#methods').scrollIntoViewIfNeeded();
    await again(page, 'methods').waitFor();
    assert.match(await textOf(page.locator('#methods')), OUT_OF_REACH);
    await axe(page);
    // The page's own answer does not need the worker.
    const before = await answer(page);
    await type(page, 'n', '32');
    assert.notDeepEqual(await answer(page), before);
    assert.equal(await page.locator('#stopped').isVisible(), false);
    // The change has asked again without success; from here on the program can be fetched.
    await page.waitForTimeout(2 * FAR_RESTS_MS);
    await again(page, 'methods').waitFor();
    await page.unroute(pattern);
    await again(page, 'methods').click();
    await fetched(page, 'methods');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'methods');
    await fetched(page, 'evidence');
    assert.equal(await again(page, 'evidence').count(), 0);
  });
}

test('offline the answer follows every change, and what was never fetched says so', async () => {
  const page = await open('v1&n=16');
  await page.context().setOffline(true);
  const before = await answer(page);
  await type(page, 'n', '32');
  await type(page, 's', '16k');
  assert.notDeepEqual(await answer(page), before);
  await pasteText(page, CONFIG);
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Try again' }).waitFor();
  assert.match(plain(await dialog.textContent()), /could not be fetched/);
  assert.ok(await part(page, 'paste-use').isDisabled());
  await page.context().setOffline(false);
  await dialog.getByRole('button', { name: 'Try again' }).click();
  await part(page, 'paste-report').waitFor();
  // Once fetched, the program works without a network.
  await page.context().setOffline(true);
  await page.keyboard.press('Escape');
  await fetched(page, 'methods');
  await type(page, 'n', '64');
  await fetched(page, 'methods');
  assert.equal(await textOf(part(page, 'methods-row-total').locator('td').first()), (await answer(page)).total);
});

test('a pasted config.json becomes the model, as one step of undo, and the rest of the scenario stays', async () => {
  const page = await open('v1&m=llama2-13b&gpu=a100-40&n=16&z=2&name=Mine&b.gpu=h100-80&b.n=8');
  const before = await link(page);
  await pasteText(page, '{"model_type": "llama"}');
  await part(page, 'paste-error').waitFor();
  assert.ok(await part(page, 'paste-use').isDisabled());
  await part(page, 'paste-text').fill(CONFIG);
  await part(page, 'paste-report').waitFor();
  assert.match(await textOf(part(page, 'paste-report')), /hidden_size2048read.*head_dim64derived/);
  await part(page, 'paste-use').click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  const after = await address(page);
  for (const piece of ['gpu=a100-40', 'n=16', 'z=2', 'name=Mine', 'b.gpu=h100-80', 'b.n=8']) assert.ok(after.split('&').includes(piece), `${piece} in ${after}`);
  assert.equal(await (await reach(page, 'h')).inputValue(), '2048');
  assert.equal(await input(page, 'l').inputValue(), '16');
  await part(page, 'undo').click();
  assert.equal(await link(page), before);
  noConsoleErrors(page);
});

test('a text of 5 MB, and one that takes long to read, leave the page alive', async () => {
  const page = await open('v1&n=16');
  await pasteText(page, CONFIG);
  await part(page, 'paste-report').waitFor();
  const huge = ['{"a": "', 'x'.repeat(5e6), '"}'].join('');
  const deep = `{${'a:[[[[1,],],],],'.repeat(6e4)}`;
  for (const way of ['input', 'paste']) {
    for (const [text, sentence] of [[huge, /^This text is 5000009 bytes long, more than any config.json/], [deep, /./]]) {
      const longest = await page.evaluate(async ([how, content]) => {
        const area = document.querySelector('[data-testid="paste-text"]');
        area.value = '';
        let pause = 0;
        let last = performance.now();
        const ticks = setInterval(() => {
          pause = Math.max(pause, performance.now() - last);
          last = performance.now();
        }, 5);
        if (how === 'input') {
          area.value = content;
          area.dispatchEvent(new Event('input', { bubbles: true }));
        } else {
          const clipboardData = new DataTransfer();
          clipboardData.setData('text/plain', content);
          area.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
        }
        await new Promise((later) => setTimeout(later, 1000));
        clearInterval(ticks);
        return pause;
      }, [way, text]);
      console.log(`${way} of ${text.length} characters: the longest pause is ${longest.toFixed(0)} ms`);
      assert.ok(longest < 500, `${longest} ms`);
      await part(page, 'paste-error').waitFor({ timeout: 60_000 });
      assert.match(await textOf(part(page, 'paste-error')), sentence);
      await part(page, 'paste-text').fill(CONFIG);
      await part(page, 'paste-report').waitFor();
    }
  }
  noConsoleErrors(page);
});
