// Walkthroughs with keys alone: no pointer is used, and at every stop of the Tab key the focus is
// in sight.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { noConsoleErrors } from './harness.mjs';
import { choose, enter, errorSaid, go, mode, onlyKeys, openByKeys, pick, reach, type } from './keys.mjs';
import { answer, bytesOf, downloaded, input, link, open, part, paste, plain, sameAsCommand, textOf, until } from './steps.mjs';

const GIB = 2 ** 30;

/** The checks at the end of every walkthrough. */
async function done(page) {
  await onlyKeys(page);
  noConsoleErrors(page);
  await page.close();
}

test('by keyboard, walkthrough 2: the steps of the first document', async () => {
  const page = await openByKeys();
  await pick(page, 'm', 'how many gpus', '7B of');
  await type(page, 's', '4096');
  await type(page, 'gb', '128');
  await pick(page, 'gpu', 'a100 40', 'A100 SXM4 40GB');
  await choose(page, 'ker', 'korthikanti');
  const links = new Set();
  for (const [key, word] of [['z', '1'], ['z', '2'], ['z', '3'], ['rc', 'full'], ['att', 'standard'], ['att', 'flash']]) {
    await choose(page, key, word);
    links.add(await link(page));
  }
  // Full recomputation is where the page starts from.
  assert.ok(links.size >= 4, [...links].join('\n'));
  await sameAsCommand(page);
  await done(page);
});

test('by keyboard, walkthrough 3: why is it so big?', async () => {
  const page = await openByKeys('v1&m=ju-7b&s=4096&gb=128&b=empty&gpu=a100-40&ker=korthikanti&att=standard&rc=none&n=1&z=none');
  const ledger = part(page, 'ledger');
  const kind = ledger.locator('tr.ledger__kind').getByRole('button', { name: 'Activations', exact: true });
  await go(page, kind);
  if ((await kind.getAttribute('aria-expanded')) === 'false') await page.keyboard.press('Enter');
  const items = ledger.locator('tr.ledger__item');
  await items.first().waitFor();
  for (let index = 0; index < (await items.count()); index += 1) await enter(page, items.nth(index).getByRole('button').first());
  const tensors = (await ledger.locator('tr.ledger__tensor').allTextContents()).map(plain);
  const squares = tensors.filter((text) => /4096\.0 GiB.* 32 × bf16 \[micro_batch_size 128, num_attention_heads 32, seq_length 4096, context_length 4096\]/.test(text));
  assert.equal(squares.length, 2, tensors.join(' | '));
  await done(page);
});

test('by keyboard, walkthrough 4: an engineer fine-tunes Llama 3 70B', async () => {
  const page = await openByKeys();
  await pick(page, 'm', 'llama 3 70b', 'Llama 3 70B');
  await type(page, 's', '8192');
  await type(page, 'n', '16');
  const json = await sameAsCommand(page);
  assert.equal(json.parameters, 70_553_706_496);
  assert.equal(json.verdict, 'does_not_fit');
  await type(page, 'n', String(json.gpus.runnable));
  assert.match((await answer(page)).headline, /^Fits/);
  await page.keyboard.press('Control+z');
  assert.equal((await sameAsCommand(page)).verdict, 'does_not_fit');
  await done(page);
});

test('by keyboard, walkthrough 5: serving Llama 3 70B with 128k tokens', async () => {
  const page = await openByKeys();
  await mode(page, 'serve');
  await pick(page, 'm', 'llama 3 70b', 'Llama 3 70B');
  await type(page, 'ctx', '128k');
  await type(page, 'seqs', '1');
  await type(page, 'n', '1');
  const json = await sameAsCommand(page);
  assert.deepEqual([bytesOf(json, 'Weights'), bytesOf(json, 'KV cache')], [2 * 70_553_706_496, 40 * GIB]);
  await enter(page, part(page, 'fixes').getByRole('button', { name: /int4|4.bit/i }));
  assert.equal((await sameAsCommand(page)).verdict, 'tight');
  // The pressed button is gone with its reason. The next Tab stop must still be in this part of the
  // page and not at the page's beginning.
  await page.keyboard.press('Tab');
  const where = await page.evaluate(() => [document.activeElement.className, document.activeElement.closest('.answer') !== null]);
  assert.ok(where[1], `the focus went to ${where[0]}`);
  await done(page);
});

test('by keyboard, walkthrough 6: a config.json that nobody has seen', async () => {
  const page = await openByKeys();
  await enter(page, part(page, 'paste'));
  await go(page, part(page, 'paste-text'));
  // Inserts the text at once, as a paste does.
  await page.keyboard.insertText('{"model_type":"llama","hidden_size":2048,"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"intermediate_size":8192,"vocab_size":128256}');
  await part(page, 'paste-report').waitFor();
  await enter(page, part(page, 'paste-use'));
  await page.locator('dialog[open]').waitFor({ state: 'detached' });
  assert.match(await link(page), /mt=llama&hidden-size=2048/);
  await sameAsCommand(page);
  await done(page);
});

test('by keyboard, walkthrough 7: does 8B fit my 24 GB card?', async () => {
  const page = await openByKeys();
  await mode(page, 'serve');
  await pick(page, 'gpu', '4090', 'RTX 4090');
  for (const [key, text] of [['n', '1'], ['seqs', '1'], ['ctx', '8k']]) await type(page, key, text);
  assert.match((await answer(page)).headline, /^Fits/);
  await type(page, 'ctx', '128k');
  assert.equal((await sameAsCommand(page)).verdict, 'does_not_fit');
  await mode(page, 'tune');
  await type(page, 's', '512');
  await choose(page, 'ft', 'qlora');
  assert.match((await answer(page)).headline, /^Fits/);
  await sameAsCommand(page);
  await done(page);
});

test('by keyboard, walkthroughs 8 and 9: a link of last year is kept, a damaged one takes nothing away', async () => {
  const page = await openByKeys('v1&m=llama3-405b&gpu=k80&mem=12&n=1024&tp=8');
  assert.match(await textOf(part(page, 'refused')), /This link names a GPU that is not in the list: “k80”/);
  await enter(page, part(page, 'refused').getByRole('button', { name: 'Use H100 SXM5' }));
  const before = await answer(page);
  await enter(page, part(page, 'save'));
  await go(page, page.locator('#save-name'));
  await page.keyboard.press('Control+a');
  await page.keyboard.type('From last year');
  await page.keyboard.press('Enter');
  const kept = part(page, 'saved').getByRole('button', { name: 'From last year', exact: true });
  await kept.waitFor();
  await paste(page, 'v1&c=rf6&m=llama3-70b&n=64&z');
  assert.match(await textOf(part(page, 'notices')), /changed by hand or cut off/);
  await paste(page, 'v1');
  await enter(page, kept);
  assert.deepEqual(await answer(page), before);
  await done(page);
});

test('by keyboard, walkthrough 12: compare ZeRO-2 with ZeRO-3', async () => {
  const page = await openByKeys('v1&m=llama2-13b&z=2');
  const two = await sameAsCommand(page);
  await enter(page, part(page, 'pin'));
  await choose(page, 'z', '3');
  const three = await sameAsCommand(page);
  const table = part(page, 'compare').locator('table');
  const rows = await table.locator('tbody tr').evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent)));
  const [a, b] = [three, two].map((side) => (side.total_bytes / GIB).toFixed(1));
  const printed = [`${a} GiB`, `${b} GiB +${(b - a).toFixed(1)}`];
  assert.deepEqual(rows.find(([name]) => plain(name) === 'Memory per GPU').slice(1, 3).map(plain), printed);
  await enter(page, part(page, 'share'));
  await go(page, page.getByRole('button', { name: 'Curves as CSV' }));
  const { text } = await downloaded(page, () => page.keyboard.press('Enter'));
  assert.match(text, /^B,/m);
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => document.activeElement.dataset.testid), 'share');
  await done(page);
});

test('by keyboard, walkthrough 16: absurd input says so where it stands, and undo takes it back', async () => {
  const page = await openByKeys();
  const good = await answer(page);
  for (const [key, text] of [['s', '1e12'], ['n', '-1'], ['l', '0'], ['mem', '0']]) {
    const old = plain(await (await reach(page, key)).inputValue());
    await type(page, key, text);
    assert.ok((await errorSaid(page, key)).length > 20, key);
    // While it was typed, `1` was a valid length. The complete text is not, and the page says that
    // it shows an earlier answer.
    await part(page, 'stale').waitFor();
    // The first undo removes the invalid text, the next one the value that was valid while typing.
    await enter(page, part(page, 'undo'));
    await part(page, 'stale').waitFor({ state: 'detached' });
    if (plain(await input(page, key).inputValue()) !== old) await page.keyboard.press('Enter');
    assert.ok(await until(async () => plain(await input(page, key).inputValue()) === old), `${key} after undo`);
    assert.ok(await until(async () => isDeepStrictEqual(await answer(page), good)), `${key}: ${(await answer(page)).headline}`);
  }
  await done(page);
});

test('a phone with an external keyboard: the same in 360 pixels', async () => {
  const page = await openByKeys(undefined, { viewport: { width: 360, height: 740 } });
  await pick(page, 'm', 'llama 3 70b', 'Llama 3 70B');
  await type(page, 'n', '64');
  await choose(page, 'z', '2');
  const shared = await link(page);
  await sameAsCommand(page);
  await done(page);
  const other = await open(shared);
  assert.match((await answer(other)).headline, /Llama 3 70B on 64 ×/);
});

test('by keyboard: a value typed key by key is one step of undo, and so is the next one', async () => {
  const page = await openByKeys('v1&n=64&m=llama3-8b');
  /** Waits for the input's text to be that one. */
  const shows = async (text) => {
    const now = () => input(page, 'n').inputValue();
    await until(async () => (await now()) === text);
    assert.equal(await now(), text);
  };
  await go(page, input(page, 'n'));
  // Typing slowly continues the number in the same field, as one step of undo.
  for (const [at, key] of [...'128'].entries()) {
    if (at > 0) await page.waitForTimeout(1000);
    await page.keyboard.press(key);
  }
  await shows('128');
  await page.keyboard.press('Control+z');
  await shows('64');
  await page.keyboard.press('Control+Shift+z');
  await shows('128');
  // Leaving the field and entering it again begins a new step of undo.
  await page.keyboard.press('Tab');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('End');
  await page.keyboard.press('0');
  await shows('1280');
  await page.keyboard.press('Control+z');
  await shows('128');
  await page.keyboard.press('Control+z');
  await shows('64');
  await done(page);
});
