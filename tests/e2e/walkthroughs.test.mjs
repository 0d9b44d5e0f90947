// A newcomer's tasks: walkthroughs 1-9, 12 and 16 of the guide. Numbers come from the command line
// of the same build, and page and command must agree word for word. Where numbers differ from the
// guide's, a comment gives the reason.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { noConsoleErrors } from './harness.mjs';
import {
  address, answer, bytesOf, choose, command, downloaded, errorOf, input, link, methodColumn, mode, noBrokenNumbers, open, part, paste, pasteText,
  pick, plain, reach, sameAsCommand, textOf, type, unfold, unroll, until,
} from './steps.mjs';

const GIB = 2 ** 30;
/** The largest value that each field takes. */
const LARGEST = [
  ['h', '10M'], ['l', '10000'], ['a', '100000'], ['kv', '100000'], ['hd', '100000'], ['ff', '10M'], ['v', '10M'], ['s', '100M'],
  ['gb', '10M'], ['n', '1M'], ['tok', '1e16'],
];
/** `GPUs` of an answer as a number. */
const count = (text) => Number(text.replace(/[^\d]/g, ''));

test('walkthrough 1: a student with a phone in the lecture hall', async () => {
  const shared = 'v1&m=llama3-70b&n=64&z=2';
  const slow = async (page) => {
    const session = await page.context().newCDPSession(page);
    // Lighthouse's slow 4G: 150 ms, 1.6 Mbit/s.
    const rate = 1_600_000 / 8;
    await session.send('Network.emulateNetworkConditions', { offline: false, latency: 150, downloadThroughput: rate, uploadThroughput: rate });
    await page.addInitScript(() => {
      const look = () => {
        const headline = document.querySelector('#app h1');
        const seen = headline?.checkVisibility({ visibilityProperty: true }) && headline.textContent.includes('Llama 3 70B');
        if (seen) globalThis.headlineAt = performance.now();
        else requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
  };
  const phone = await open(shared, { viewport: { width: 360, height: 740 }, touch: true, prepare: slow });
  const projector = await open(shared, { viewport: { width: 1280, height: 720 } });

  const paint = await phone.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
  assert.ok(paint <= 2500, `first paint after ${paint} ms`);
  // Times the shared scenario's headline, not the one in the HTML. The goal is 2.5 s; the limit is
  // higher for a busy machine.
  const seen = await until(() => phone.evaluate(() => globalThis.headlineAt));
  console.log(`walkthrough 1: first paint after ${Math.round(paint)} ms, the headline after ${Math.round(seen)} ms`);
  assert.ok(seen <= 5000, `the headline after ${seen} ms`);
  const box = await part(phone, 'verdict').locator('h1').boundingBox();
  assert.ok(box.y >= 0 && box.y + box.height <= 740, `the headline stands from ${box.y} to ${box.y + box.height}`);
  assert.deepEqual(await answer(phone), await answer(projector));
  await sameAsCommand(phone);

  assert.equal(await phone.locator('dialog[open]').count(), 0);
  assert.equal(await phone.evaluate(() => document.cookie), '');
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page scrolls sideways');

  // Typing makes the page neither jump nor zoom, because the letters are large enough.
  const length = await reach(phone, 's');
  assert.ok((await length.evaluate((element) => parseFloat(getComputedStyle(element).fontSize))) >= 16);
  await length.tap();
  const before = await phone.evaluate(() => scrollY);
  await length.pressSequentially('4');
  await phone.waitForTimeout(100);
  assert.equal(await phone.evaluate(() => scrollY), before);

  // A touch moves the point of the curve.
  await type(phone, 's', '4k');
  const plot = phone.locator('#plot-seq');
  await plot.scrollIntoViewIfNeeded();
  const area = await plot.boundingBox();
  const touch = await phone.context().newCDPSession(phone);
  const at = (share) => [{ x: area.x + area.width * share, y: area.y + area.height / 2 }];
  await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(0.4) });
  for (const share of [0.5, 0.6, 0.7, 0.8]) await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(share) });
  await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  const moved = await until(async () => new URLSearchParams(await link(phone)).get('s') !== '4096');
  assert.ok(moved, 'the thumb did not move the point');
  await sameAsCommand(phone);
  noConsoleErrors(phone);
});

test('walkthrough 2: the story of the first document, from 924 GPUs to 8', async () => {
  const page = await open();
  await pick(page, 'm', 'how many gpus', '7B of');
  await type(page, 's', '4096');
  await type(page, 'gb', '128');
  // No micro-batch is set: each rank processes its whole share at once, as in the document.
  await type(page, 'b', '');
  await pick(page, 'gpu', 'a100 40', 'A100 SXM4 40GB');
  // The document says 40 GB; the card's driver reports 40 960 MiB, which is 42.9 GB.
  await type(page, 'mem', '40 GB');
  await choose(page, 'ker', 'korthikanti');
  await choose(page, 'att', 'standard');
  await choose(page, 'rc', 'none');

  // The document's own method, with its nominal 7.0 billion parameters and exact amounts. The
  // document prints 924, 423 and 275, because it rounds, mixes GB and GiB, and leaves out the model
  // states in a division.
  const steps = [
    { change: () => choose(page, 'z', '1'), division: '935 GPUs', runs: 'none' },
    { change: () => choose(page, 'z', '2'), division: '432 GPUs', runs: 'none' },
    { change: () => choose(page, 'z', '3'), division: '282 GPUs', runs: 'none' },
    // 15 GPUs cannot run it: one rank would hold 9 of 128 sequences, which take 41.3 of 40 GB.
    { change: () => choose(page, 'rc', 'full'), division: '15 GPUs', runs: '16 GPUs' },
    { change: () => choose(page, 'att', 'flash'), division: '8 GPUs', runs: '8 GPUs' },
  ];
  const links = new Set();
  const engine = [];
  for (const step of steps) {
    await step.change();
    const column = await methodColumn(page, 'Li Ju 2026');
    assert.deepEqual([column.division, column.runnable], [step.division, step.runs]);
    const json = await sameAsCommand(page);
    engine.push([json.gpus.arithmetic, json.gpus.runnable]);
    links.add(await link(page));
  }
  assert.equal(links.size, steps.length, 'each step has a link of its own');

  // The engine's counts differ: in addition to the document's terms it counts attention's dropout,
  // logits and loss, gathered weights, the framework's 1.3 GiB and a reserve of 3 %, and it counts
  // only gradients that live at the peak. Both agree that without recomputation no count runs,
  // because one sequence alone is larger than the card.
  for (const [, runnable] of engine.slice(0, 3)) assert.equal(runnable, null);
  for (const [arithmetic, runnable] of engine.slice(3)) {
    assert.ok(arithmetic !== null && runnable >= arithmetic);
    assert.equal(128 % runnable, 0, 'ranks share 128 sequences evenly');
  }
  assert.ok(engine[4][1] < engine[3][1], 'FlashAttention needs fewer GPUs');

  // The method's last step takes 39.8 of 40 GB; the step before gives the reason why 15 GPUs are
  // not enough.
  await part(page, 'unit-GB').click();
  const why = async () => (await methodColumn(page, 'Li Ju 2026')).why;
  assert.match(await why(), /8 GPUs can run: each rank holds 16 sequences at once and needs 39\.[78] GB of 40\.0 GB/);
  await choose(page, 'att', 'standard');
  assert.match(await why(), /15 does not divide 128: one rank would hold 9 sequences and need 41\.[34] GB of 40\.0 GB/);
  await choose(page, 'rc', 'none');
  // One sequence's activations are 87.0 GB by the document's formula; with its states at ZeRO-3 on
  // 128 ranks that makes 87.8 GB.
  assert.match(await why(), /At most 128 ranks can share 128 sequences in whole micro-batches; even then one holds 1 sequence and needs 87\.8 GB/);
  noConsoleErrors(page);
});

test('walkthrough 3: why is it so big?', async () => {
  const page = await open('v1&m=ju-7b&s=4096&gb=128&b=empty&gpu=a100-40&ker=korthikanti&att=standard&rc=none&n=1&z=none');
  const json = await sameAsCommand(page);
  const ledger = part(page, 'ledger');
  await unroll(page, 'Activations');
  const items = ledger.locator('tr.ledger__item');
  await items.first().waitFor();
  const names = (await items.locator('th').allTextContents()).map(plain);
  assert.equal(names.length, json.ledger.filter((line) => line.kind === 'Activations').length);
  // Opens one item after the other to find the tensors with the scores.
  for (let index = 0; index < names.length; index += 1) await items.nth(index).locator('.ledger__toggle').click();
  const tensors = await ledger.locator('tr.ledger__tensor').evaluateAll((rows) => rows.map((row) => row.textContent));
  // The guide's figure: 2·32·128·4096²·2 bytes = 274.9 GB = 256.0 GiB a block, two squares of bf16
  // for every head. Here they are two tensors, the probabilities before and after dropout, 128 GiB
  // each in each of 32 blocks. The guide leaves out dropout's own mask.
  const squares = tensors.map(plain).filter((text) => /seq_length 4096, context_length 4096\]/.test(text));
  assert.equal(squares.filter((text) => /4096\.0 GiB.* 32 × bf16 \[micro_batch_size 128, num_attention_heads 32,/.test(text)).length, 2, squares.join(' | '));
  assert.equal(squares.filter((text) => /2048\.0 GiB.* 32 × mask/.test(text)).length, 1);
  // The printed parts of a kind add up to the printed amount above them.
  const kind = plain(await ledger.locator('tr.ledger__kind').filter({ hasText: 'Activations' }).locator('td').first().textContent());
  const parts = await items.evaluateAll((rows) => rows.map((row) => row.querySelector('td').textContent));
  const tenths = (text) => Math.round(10 * Number(text.replace(/[^\d.]/g, '')));
  assert.equal(parts.map(tenths).reduce((a, b) => a + b, 0), tenths(kind));
  noConsoleErrors(page);
});

test('walkthrough 4: an engineer fine-tunes Llama 3 70B', async () => {
  const page = await open();
  await pick(page, 'm', 'llama 3 70b', 'Llama 3 70B');
  await type(page, 's', '8192');
  await type(page, 'n', '16');
  assert.match(await textOf(part(page, 'facts')), /70 553 706 496/);
  const json = await sameAsCommand(page);
  assert.equal(json.parameters, 70_553_706_496);
  // 16 bytes per parameter are 1128.9 GB on 16 GPUs: 65.7 GiB each. Gathered blocks and shares
  // rounded up add less than 1 %. At the peak not all gradients live, so the ledger's three kinds
  // hold at most that.
  const states = bytesOf(json, 'Weights') + bytesOf(json, 'Gradients') + bytesOf(json, 'Optimizer states');
  assert.ok(states <= 1.01 * (16 * 70_553_706_496) / 16 && states > 0.9 * (14 * 70_553_706_496) / 16, `${states / GIB} GiB`);
  // Checkpoints: 80 block inputs of 8192 × 8192 × 2 bytes, the guide's 10.0 GiB; at the peak
  // backward has already freed the last one.
  assert.equal(bytesOf(json, 'Activations', 'Block input'), (79 / 80) * 10 * GIB);
  // 16 is too few, as the guide says. It recommends 24 or 32; here it is 32, because 24 ranks do
  // not share 128 sequences evenly.
  assert.equal(json.verdict, 'does_not_fit');
  assert.equal(json.gpus.runnable, 32);
  assert.ok(json.gpus.arithmetic > 16);
  assert.match((await answer(page)).reason, /16 GPUs fail: [\d.]+ GiB short per GPU; the largest part is optimizer states/);
  await type(page, 'n', '32');
  assert.match((await answer(page)).headline, /^Fits/);
  await sameAsCommand(page);
  noConsoleErrors(page);
});

test('walkthrough 5: serving Llama 3 70B with 128k tokens', async () => {
  const page = await open();
  await mode(page, 'serve');
  await pick(page, 'm', 'llama 3 70b', 'Llama 3 70B');
  await type(page, 'ctx', '128k');
  await type(page, 'seqs', '1');
  await type(page, 'n', '1');
  const json = await sameAsCommand(page);
  // The guide's 131.4 GiB and 40.0 GiB.
  assert.equal(bytesOf(json, 'Weights'), 2 * 70_553_706_496);
  assert.equal(bytesOf(json, 'KV cache'), 40 * GIB);
  const shown = await answer(page);
  assert.match(shown.kinds[0], /131\.4 GiB/);
  assert.match(shown.kinds[1], /40\.0 GiB/);
  assert.deepEqual([count(shown.arithmetic), count(shown.runnable)], [3, 4]);
  assert.match(shown.reason, /num_attention_heads \(64\) does not divide by the tensor-parallel degree 3/);
  // One click applies a verified fix, 4-bit weights. The guide's 72.9 GiB plus context, reserve and
  // prefill still just fit one card.
  await part(page, 'fixes').getByRole('button', { name: /int4|4.bit/i }).click();
  const after = await sameAsCommand(page);
  assert.equal(after.verdict, 'tight');
  assert.match((await answer(page)).headline, /^Fits, tightly\. .* on 1 × H100/);
  noConsoleErrors(page);
});

test('walkthrough 6: a config.json that nobody has seen', async () => {
  const page = await open();
  const before = await answer(page);
  // A text that is not a config, or not a language model's, gets one sentence, and nothing changes.
  const config = (name) => readFileSync(new URL(`../data/configs/${name}.json`, import.meta.url), 'utf8');
  const unknown = '{"model_type": "zamba9", "hidden_size": 2304, "num_hidden_layers": 21, "state_size": 16, "time_step_limit": [0.0, Infinity]}';
  const hybrid = '{"model_type": "nemotron_h", "hidden_size": 4096, "num_hidden_layers": 4, "hybrid_override_pattern": "M-M*", "time_step_limit": [0.0, Infinity]}';
  for (const [text, says] of [
    ['<!doctype html><title>401 Unauthorized</title>', /web page|HTML/i],
    ['{"model_type": "segformer", "image_size": 224, "patch_size": 16, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}', /segformer|image|vision/i],
    [unknown, /state.space|zamba9/i],
    [hybrid.replace('M-M*', 'M-M'), /lists 3 layers one by one, but has 4/],
  ]) {
    await pasteText(page, text);
    assert.match(await textOf(part(page, 'paste-error')), says);
    assert.ok(await part(page, 'paste-use').isDisabled());
    await page.keyboard.press('Escape');
    assert.deepEqual(await answer(page), before);
  }
  // Reads GPT-2's own names of keys, and a text model inside another config.
  await pasteText(page, config('gpt2'));
  await part(page, 'paste-report').waitFor();
  assert.match(await textOf(part(page, 'paste-report')), /n_embd.*read/);
  await part(page, 'paste-use').click();
  assert.equal((await sameAsCommand(page)).parameters, 124_439_808);
  await pasteText(page, `{"model_type": "llava", "text_config": ${config('llama3-8b')}, "vision_config": {"hidden_size": 1024}}`);
  await part(page, 'paste-report').waitFor();
  await part(page, 'paste-use').click();
  assert.equal((await sameAsCommand(page)).parameters, 8_180_419_584);
  // Latent attention is not read as attention with as many keys as queries: the cache takes 70 272
  // bytes a token, 8.6 GiB at 128k.
  await pasteText(page, config('deepseek-v3'));
  await part(page, 'paste-report').waitFor();
  await part(page, 'paste-use').click();
  await mode(page, 'serve');
  await type(page, 'ctx', '128k');
  await type(page, 'seqs', '1');
  await type(page, 'n', '16');
  assert.equal(bytesOf(await sameAsCommand(page), 'KV cache'), 70_272 * 131_072);
  // Of four layers, one keeps keys and values, and two keep a state of 128 heads by 64 by 128 in
  // fp32 and three tokens of 10 240 columns.
  await pasteText(page, hybrid);
  await part(page, 'paste-report').waitFor();
  await part(page, 'paste-use').click();
  assert.equal(bytesOf(await sameAsCommand(page), 'KV cache'), 131_072 * 2 * 8 * 128 * 2 + 2 * (128 * 64 * 128 * 4 + 3 * 10_240 * 2));
  noConsoleErrors(page);
});

test('walkthrough 7: does 8B fit my 24 GB card?', async () => {
  const page = await open();
  await mode(page, 'serve');
  await pick(page, 'gpu', '4090', 'RTX 4090');
  await type(page, 'n', '1');
  await type(page, 'seqs', '1');
  await type(page, 'ctx', '8k');
  const json = await sameAsCommand(page);
  // The guide's 15.0 GiB are 14.96; the page may print 14.9, because printed parts must add up to
  // the printed total.
  assert.equal(bytesOf(json, 'Weights'), 2 * 8_030_261_248);
  assert.equal(bytesOf(json, 'KV cache'), GIB);
  assert.match((await answer(page)).headline, /^Fits/);
  // The card states the longest context, and one token more does not fit.
  const room = await textOf(part(page, 'fixes'));
  const longest = Number(room.match(/sequences of ([\d ]+) tokens/)[1].replace(/ /g, ''));
  for (const [tokens, fits] of [[longest, true], [longest + 1, false]]) {
    await type(page, 'ctx', String(tokens));
    assert.equal(/^Fits/.test((await answer(page)).headline), fits, `${tokens} tokens`);
  }
  await type(page, 'ctx', '128k');
  const long = await sameAsCommand(page);
  assert.equal(bytesOf(long, 'KV cache'), 16 * GIB);
  assert.equal(long.verdict, 'does_not_fit');
  // Full fine-tuning: 16 bytes per parameter are 119.7 GiB before any activation.
  await mode(page, 'train');
  await choose(page, 'z', 'none');
  await type(page, 's', '512');
  const tuned = await sameAsCommand(page);
  assert.equal(tuned.verdict, 'does_not_fit');
  assert.ok(tuned.total_bytes > 14 * 8_030_261_248, `${tuned.total_bytes / GIB} GiB`);
  // On a hobbyist's card adapters alone are not enough, because frozen weights take 15.0 GiB and
  // logits are whole; adapters on 4-bit weights fit.
  await mode(page, 'tune');
  const lora = await sameAsCommand(page);
  assert.ok(lora.total_bytes < tuned.total_bytes / 4, `${lora.total_bytes / GIB} GiB`);
  await choose(page, 'ft', 'qlora');
  const qlora = await sameAsCommand(page);
  assert.ok(qlora.total_bytes < lora.total_bytes - 8 * GIB, `${qlora.total_bytes / GIB} GiB`);
  assert.match((await answer(page)).headline, /^Fits/);
  // Model and GPU stay through all three modes, and undo leads back.
  assert.match((await answer(page)).headline, /Llama 3 8B on 1 × .*4090/);
  await page.keyboard.press('Control+z');
  assert.deepEqual(await sameAsCommand(page), lora);
  noConsoleErrors(page);
});

test('walkthrough 8: a link of last year', async () => {
  const page = await open('v1&m=llama3-405b&gpu=k80&mem=12&n=1024&tp=8');
  const told = await textOf(part(page, 'notices'));
  assert.match(told, /“llama3-405b” is listed here as Llama 3\.1 405B/);
  // No other GPU is used in its place: the card names the unknown one, and the reader chooses one
  // from the list.
  assert.match(await textOf(part(page, 'refused')), /This link names a GPU that is not in the list: “k80”/);
  assert.equal(await page.locator('.verdict__figure').count(), 0);
  assert.equal(await input(page, 'n').inputValue().then(plain), '1024');
  await part(page, 'refused').getByRole('button', { name: 'Use H100 SXM5' }).click();
  // The values that the link carries apply.
  assert.match((await answer(page)).headline, /each has 12\.0 GiB/);
  // Saves a copy.
  await part(page, 'save').click();
  await page.locator('#save-name').fill('From last year');
  await part(page, 'save-confirm').click();
  await part(page, 'saved').getByRole('button', { name: 'From last year', exact: true }).waitFor();
  // The saved copy, opened again, gives this answer.
  const before = await answer(page);
  await paste(page, 'v1');
  await part(page, 'saved').getByRole('button', { name: 'From last year', exact: true }).click();
  assert.deepEqual(await answer(page), before);
  noConsoleErrors(page);
});

test('walkthrough 9: a link that a chat program has damaged', async () => {
  const good = 'v1&c=rf6&m=llama3-70b&n=64&z=2';
  const page = await open();
  await part(page, 'save').click();
  await part(page, 'save-confirm').click();
  const kept = await page.evaluate(() => JSON.stringify(localStorage));
  await paste(page, good);
  const expected = await answer(page);
  for (const damaged of [`${good})`, `${good}.`, `${good}).`, encodeURIComponent(good), `%23${good}`, good.replace(/&/g, '&amp;')]) {
    await paste(page, 'v1');
    await paste(page, damaged);
    assert.deepEqual(await answer(page), expected, damaged);
  }
  // Of a link that was cut off, the rest is shown, and a sentence says so.
  await paste(page, good.slice(0, -4));
  assert.match(await textOf(part(page, 'notices')), /changed by hand or cut off/);
  assert.match((await answer(page)).headline, /Llama 3 70B on 64 ×/);
  // Where nothing is left, the page that was open stays as it is; a fresh page shows the default
  // scenario.
  const before = await answer(page);
  await paste(page, good.slice(0, 6));
  assert.match(await textOf(part(page, 'notices')), /Nothing of this link can be read.*The page stays as it was/);
  assert.deepEqual(await answer(page), before);
  const fresh = await open(good.slice(0, 6));
  assert.match(await textOf(part(fresh, 'notices')), /The default scenario is shown instead/);
  assert.match((await answer(fresh)).headline, /Llama 3 8B on 8 × H100/);
  assert.equal(await page.evaluate(() => JSON.stringify(localStorage)), kept);
  noConsoleErrors(page);
});

test('walkthrough 12: compare ZeRO-2 with ZeRO-3, and A100 with H100', async () => {
  const page = await open('v1&m=llama2-13b&z=2');
  const two = await sameAsCommand(page);
  const drawn = async (name) => part(page, name).locator('.curve__svg').innerHTML();
  const alone = [await drawn('curve-seq'), await drawn('curve-gpus')];
  await part(page, 'pin').click();
  await choose(page, 'z', '3');
  const three = await sameAsCommand(page);

  const table = part(page, 'compare').locator('table');
  const rows = (await table.locator('tbody tr').evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent)))).map((cells) => cells.map(plain));
  assert.deepEqual(rows[0], ['Sharding', 'ZeRO-3', 'ZeRO-2']);
  const memory = rows.find(([name]) => name === 'Memory per GPU');
  const gib = (bytes) => `${(bytes / GIB).toFixed(1)} GiB`;
  const more = ((Number(gib(two.total_bytes).split(' ')[0]) - Number(gib(three.total_bytes).split(' ')[0]))).toFixed(1);
  assert.deepEqual(memory.slice(1), [gib(three.total_bytes), `${gib(two.total_bytes)} +${more}`]);
  const runs = rows.find(([name]) => name === 'First number of GPUs that works');
  assert.deepEqual(runs.slice(1).map(Number), [three.gpus.runnable, two.gpus.runnable]);

  // Both scenarios are on both curves and on the bar.
  for (const name of ['curve-seq', 'curve-gpus']) {
    const svg = await drawn(name);
    assert.ok(!alone.includes(svg));
    assert.match(svg, /chart-text-compare/, `${name} does not name B`);
  }
  assert.equal(await page.locator('#stack').getByText(/^[AB]: /).count(), 2);

  // One link carries both scenarios.
  const pair = await address(page);
  assert.match(pair, /&z=3&b\.z=2$/);
  const other = await open(pair);
  assert.deepEqual(await answer(other), await answer(page));
  assert.equal(await textOf(part(other, 'compare').locator('table')), await textOf(table));

  // The file for spreadsheets has both scenarios, to the byte.
  await part(page, 'share').click();
  const { text } = await downloaded(page, () => page.getByRole('button', { name: 'Curves as CSV' }).click());
  const lines = text.trim().split('\n').map((line) => line.split(','));
  const total = lines[0].indexOf('total_bytes');
  const at = (scenario) => lines.find(([name, axis, x]) => name === scenario && axis === 'seq_length' && x === '8192')[total];
  assert.deepEqual([Number(at('A')), Number(at('B'))], [three.total_bytes, two.total_bytes]);
  await page.keyboard.press('Escape');

  // With two accelerators, each scenario has its own capacity.
  await paste(page, 'v1&c=6vv&m=llama2-13b&gpu=a100-40&n=16&z=2&b.gpu=h100-80&b.name=H100&b.n=8&b.z=3');
  const cards = (await table.locator('tbody tr').allTextContents()).map(plain);
  assert.ok(cards.some((row) => /Capacity of a GPU\s?40\.0 GiB\s?79\.6 GiB/.test(row)), cards.join(' | '));
  noConsoleErrors(page);
});

test('walkthrough 16: absurd input', async () => {
  const page = await open();
  const good = await answer(page);
  const cases = [
    ['l', '0'],
    ['s', '1e12'],
    ['n', '-1'],
    ['gb', 'NaN'],
    ['b', '0'],
    ['h', 'Infinity'],
    ['v', '1e400'],
    ['mem', '0'],
    ['mfu', '∞'],
    ['price', '-0.01'],
    ['tok', '<b>many</b>'],
    ['fr', '101'],
  ];
  await unfold(page);
  for (const [key, text] of cases) {
    const old = await (await reach(page, key)).inputValue();
    await type(page, key, text);
    const message = errorOf(page, key);
    await message.waitFor();
    assert.ok(plain(await message.textContent()).length > 20, `${key}: ${text}`);
    assert.equal(await input(page, key).getAttribute('aria-invalid'), 'true');
    assert.match(await input(page, key).getAttribute('aria-describedby'), new RegExp(`e-${key}`));
    assert.equal(await input(page, key).inputValue(), text, 'what was typed stays visible');
    // The last valid answer stays, marked as an earlier one.
    await part(page, 'stale').waitFor();
    assert.deepEqual(await answer(page), good, `${key}: ${text}`);
    await noBrokenNumbers(page);
    // Undo restores the old value.
    await part(page, 'undo').click();
    assert.equal(await input(page, key).inputValue(), old, `${key} after undo`);
    assert.equal(await message.count(), 0);
    assert.equal(await part(page, 'stale').count(), 0);
  }

  // Values that are valid alone but not together: heads with key/value heads, GPUs with ranks.
  await type(page, 'kv', '7');
  assert.match(await textOf(errorOf(page, 'kv')), /32 attention heads do not split evenly over 7 key\/value heads/);
  assert.deepEqual(await answer(page), good);
  // The message's own button corrects the value.
  await errorOf(page, 'kv').getByRole('button').click();
  assert.equal(await errorOf(page, 'kv').count(), 0);
  assert.equal(await part(page, 'stale').count(), 0);
  await type(page, 'tp', '3');
  await part(page, 'stale').waitFor();
  await page.keyboard.press('Control+z');
  assert.equal(await part(page, 'stale').count(), 0);

  // A width that the heads do not divide is unusual but can be computed. The largest values of all
  // fields neither freeze the page nor overflow.
  await type(page, 'a', '31');
  await noBrokenNumbers(page);
  await page.keyboard.press('Control+z');
  for (const [key, text] of LARGEST) {
    await type(page, key, text);
    await noBrokenNumbers(page);
  }
  for (const key of ['b', 'mem']) await type(page, key, key === 'b' ? '10M' : '0.1');
  await noBrokenNumbers(page);
  noConsoleErrors(page);

  // Links and the command line give the field's own sentence, too.
  for (const [fragment, sentence] of [['v1&l=0', /Layers/], ['v1&s=1e12', /Sequence length/], ['v1&n=-1', /GPUs/], ['v1&mem=0', /Memory per GPU/]]) {
    const run = command(fragment);
    assert.match(run.error + run.out, sentence, fragment);
    const linked = await open(fragment);
    assert.match(await textOf(linked.locator('body')), sentence);
    await noBrokenNumbers(linked);
    noConsoleErrors(linked);
  }
});

test('beyond 16 EiB a GPU the parts still add up, and page and command agree', async () => {
  const page = await open();
  for (const [key, text] of LARGEST) await type(page, key, text);
  await sameAsCommand(page);
  const { kinds, total } = await answer(page);
  const tenths = (text) => Math.round(10 * Number(text.replace(/[^\d.]/g, '')));
  assert.equal(kinds.map(tenths).reduce((a, b) => a + b, 0), tenths(total));
});

test('a message in a fold can be repaired without the fold closing', async () => {
  const page = await open();
  await type(page, 'l', '0');
  await errorOf(page, 'l').waitFor();
  await type(page, 'l', '40');
  await page.waitForTimeout(100);
  assert.ok(await input(page, 'l').isVisible(), 'the fold closed under the reader');
});
