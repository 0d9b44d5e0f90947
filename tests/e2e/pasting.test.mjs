// Fifteen real files, pasted: each is answered correctly, named as partly counted, or refused. No
// answer has another model's name, and its link, opened elsewhere, gives the same answer.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';
import { axe, noConsoleErrors, screenshot } from './harness.mjs';
import { answer, command, input, link, open, part, pasteText, plain, textOf, until } from './steps.mjs';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const CONFIGS = path.resolve(HERE, '../data/configs');
const ROWS = JSON.parse(readFileSync(path.resolve(HERE, '../../src/catalog/models.json'), 'utf8')).map((row) => row.name);

/** The scenario before each paste; the new answer must contain nothing of its model. */
const BEFORE = 'v1&do=serve&m=llama2-13b&gpu=h200&n=8&tp=8';

/** A decoder's file with an unknown `model_type`. */
const ofNoKnownKind = (text) => text.replace('"llama"', '"nobody_knows"');

/** For each file: the name in its answer (the catalog's, where it has the model) and the remarks
 * on its card, or its refusal. */
const FILES = [
  { file: 'gemma-3-27b.json', name: /^Gemma 3 27B with images$/, size: '27 432 406 640', remarks: [/^Texts alone: the vision tower and its projector lie in memory/] },
  { file: 'corpus/Qwen__Qwen3-VL-8B-Instruct.json', name: /^Qwen3-VL( · 8\.8 B| 8B)$/, size: '8 767 123 696', remarks: [/^Texts alone: the vision tower/] },
  { file: 'corpus/zai-org__GLM-4.5-Air.json', name: /^GLM-4\.5( · 107 B|[ -]Air.*)$/, size: '106 852 245 504', remarks: [/^Not counted: model_type; the result may be too low\.$/] },
  { file: 'corpus/allenai__Olmo-3-7B-Think.json', name: /^OLMo 3( · 7\.3 B| 7B.*)$/i, size: '7 298 011 136', remarks: [] },
  { file: 'corpus/nvidia__NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4.json', name: /^Nemotron.*( · 31\.6 B|30B.*)$/, size: '31 577 937 344', remarks: [/^Not loaded, as the library's class has none: layers/] },
  { file: 'corpus/google__gemma-4-26B-A4B.json', name: /^Gemma 4( · 25\.8 B| 26B.*)$/, size: '25 805 933 872', remarks: [/^Texts alone: the vision tower/] },
  { file: 'corpus/XiaomiMiMo__MiMo-V2-Flash.json', name: /^MiMo-V2-Flash( · 309 B| 309B)?( FP8)?$/, size: '308 778 768 832', remarks: [/^Not loaded, as the library's class has none: layers/] },
  { file: 'corpus/openai__gpt-oss-120b.json', name: /^gpt-oss( · 117 B|[ -]120B)( MXFP4)?$/i, size: '116 829 156 672', remarks: [] },
  {
    file: 'corpus/nvidia__DeepSeek-V3.2-NVFP4.json',
    name: /^DeepSeek[ -]V3\.2( · 672 B| 672B.*)?$/,
    size: '671 877 929 216',
    remarks: [/^Not loaded, as the library's class has none: layers/],
  },
  { file: 'corpus/tiiuae__Falcon-Perception.json', refused: /does not predict text/ },
  { file: 'llama3-8b.json', changed: ofNoKnownKind, unknown: 'nobody_knows', name: /^nobody/i, remarks: [/^Assumed: counted as a generic decoder, because the kind nobody_knows is not known\./] },
  { file: 'corpus/MiniMaxAI__MiniMax-M2.5.json', name: /^MiniMax-M2( · 229 B|, M2\.1, M2\.5 and M2\.7)( FP8)?$/, size: '228 689 748 992', remarks: [/^Not loaded, as the library's class has none: layers/] },
  { file: 'corpus/Qwen__Qwen3-8B.json', name: /^Qwen3 (· 8\.2 B|8B)$/, size: '8 190 735 360', remarks: [] },
  { file: 'corpus/01-ai__Yi-34B.json', name: /^(Llama · 34\.4 B|Yi[ -]34B.*)$/, size: '34 388 917 248', remarks: [] },
  { file: 'corpus/Qwen__Qwen3-Next-80B-A3B-Instruct.json', name: /^Qwen3-Next( · 79\.7 B|[ -]80B.*)$/, size: '79 674 391 296', remarks: [] },
];

const remarksOf = async (page) => (await part(page, 'verdict').getByTestId('remark').allTextContents()).map(plain);

/** Puts a file into the dialog, and waits for its report, the card for an unknown kind, or the
 * refusal. */
async function fill(page, file, changed = (text) => text) {
  await part(page, 'paste').click();
  // An invalid text comes first, to test that the last text in the dialog counts.
  await part(page, 'paste-text').fill('{"model_type": "llama"}');
  await part(page, 'paste-error').waitFor();
  await part(page, 'paste-text').fill(changed(readFileSync(path.join(CONFIGS, file), 'utf8')));
  const outcome = ['paste-report', 'paste-unknown', 'paste-error'];
  const found = async () => {
    for (const name of outcome) {
      const text = (await part(page, name).count()) > 0 ? await textOf(part(page, name)) : '';
      // The first text's error stays until this text is answered.
      if (text && !text.includes('The key "num')) return name;
    }
    return '';
  };
  return until(async () => ((await part(page, 'paste-error').filter({ hasText: 'is missing' }).count()) > 0 ? '' : found()));
}

/** The headline contains no catalog name other than the model's own. */
function noOtherName(headline, name, file) {
  const rest = headline.replace(name, '');
  for (const row of ROWS.filter((row) => row !== name)) assert.ok(!rest.includes(row), `${file}: ${headline} names ${row}`);
}

test('fifteen real files: right, flagged or refused, each under its own name, and so in a link opened elsewhere', async (t) => {
  assert.equal(FILES.length, 15);
  const page = await open(BEFORE);
  const counts = { right: 0, flagged: 0, refused: 0 };
  for (const { file, changed, name, size, remarks, refused, unknown } of FILES) {
    const before = { ...(await answer(page)), link: await link(page) };
    const outcome = await fill(page, file, changed);
    if (refused) {
      assert.equal(outcome, 'paste-error', file);
      assert.match(await textOf(part(page, 'paste-error')), refused);
      assert.ok(await part(page, 'paste-use').isDisabled(), file);
      await page.keyboard.press('Escape');
      assert.deepEqual({ ...(await answer(page)), link: await link(page) }, before, `${file}: a refused file changes nothing`);
      counts.refused += 1;
      continue;
    }
    if (unknown) {
      assert.equal(outcome, 'paste-unknown', file);
      assert.match(await textOf(part(page, 'paste-unknown')), new RegExp(`^Not counted: this kind \\(${unknown}\\) is not known`));
      assert.ok(await part(page, 'paste-use').isDisabled(), file);
      await part(page, 'paste-generic').click();
      await part(page, 'paste-report').waitFor();
    } else {
      assert.equal(outcome, 'paste-report', file);
    }
    // The report shows name and size first, then uncounted parts, then the keys.
    const offered = await part(page, 'paste-name').inputValue();
    assert.match(offered, name, file);
    if (size) assert.ok((await textOf(part(page, 'paste-size'))).startsWith(`${size} parameters`), `${file}: ${await textOf(part(page, 'paste-size'))}`);
    const order = await page.locator('#dialog-paste [data-testid]').evaluateAll((parts) => parts.map((each) => each.dataset.testid));
    const places = ['paste-understood', 'paste-name', 'paste-size', ...(remarks.length > 0 ? ['remark'] : []), 'paste-report'].map((each) => order.indexOf(each));
    assert.ok(places.every((place, at) => place >= 0 && (at === 0 || places[at - 1] < place)), `${file}: ${order}`);
    await part(page, 'paste-use').click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });

    await until(async () => (await answer(page)).headline.includes(offered));
    const shown = await answer(page);
    assert.ok(shown.headline.includes(`Serving ${offered} on 8 × H200`), `${file}: ${shown.headline}`);
    noOtherName(shown.headline, offered, file);
    const said = await remarksOf(page);
    assert.equal(said.length, remarks.length, `${file}: ${said}`);
    remarks.forEach((remark, at) => assert.match(said[at], remark, file));
    assert.equal(await page.title(), `Serving ${offered} on 8 × H200 SXM – Headroom`);
    assert.equal(await textOf(page.locator('.bar__about')), `Serving ${offered} on 8 × H200 SXM`);

    const shared = await link(page);
    const fresh = await open(shared, { context: page.context() });
    assert.deepEqual([(await answer(fresh)).headline, await remarksOf(fresh), await fresh.title()], [shown.headline, said, await page.title()], file);
    assert.equal(await part(fresh, 'notices').locator('.notice__text').count(), 0, file);
    await fresh.close();
    const { json } = command(shared, '--json');
    assert.equal(json.model, offered, file);
    assert.deepEqual(json.remarks.map((remark) => plain(remark.text).replaceAll('`', '')), said, file);
    counts[said.length > 0 ? 'flagged' : 'right'] += 1;
  }
  t.diagnostic(`${counts.right} right, ${counts.flagged} flagged, ${counts.refused} refused`);
  assert.ok(counts.right >= 5 && counts.flagged >= 5 && counts.refused >= 1, JSON.stringify(counts));
  noConsoleErrors(page);
});

test('an encoder is trained, and serving it is refused with a way out', async () => {
  const page = await open('v1&m=llama3-8b&n=8');
  assert.equal(await fill(page, 'corpus/google-bert__bert-base-uncased.json'), 'paste-report');
  const offered = await part(page, 'paste-name').inputValue();
  await part(page, 'paste-use').click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await until(async () => (await answer(page)).headline.includes(offered));
  const shown = await answer(page);
  assert.ok(shown.headline.includes(`Training ${offered} on 8 ×`), shown.headline);
  const shared = await link(page);
  assert.equal(command(shared, '--json').json.model, offered);
  const served = await open(shared.replace('v2&', 'v2&do=serve&'), { context: page.context() });
  await served.getByText('This model is an encoder').first().waitFor();
  await served.getByRole('button', { name: 'Train it' }).first().click();
  assert.ok(await until(async () => (await answer(served)).headline.includes(`Training ${offered}`)), 'the encoder is not trained');
  noConsoleErrors(page);
  noConsoleErrors(served);
});

test('a message of a run that ran out of memory is set beside the scenario, in the same dialog', async () => {
  const run = 'v1&m=llama3-8b&l=4&n=1&gb=4&b=4&s=2048&rc=full&att=standard&prec=bf16-pure&oi=for-loop&ker=eager&mem=26.5&fc=0&fr=0';
  const page = await open(run);
  const stored = readFileSync(path.resolve(HERE, '../data/oom/truth_cuda_43.txt'), 'utf8');
  await pasteText(page, stored.split('\n---\n')[1]);
  await part(page, 'oom-heading').waitFor();
  assert.match(await textOf(part(page, 'oom-heading')), /^PyTorch on CUDA device 0: tried to allocate 3\.91 GiB\.$/);
  assert.match(await textOf(part(page, 'oom-cause')), /^Fragmentation: .*The estimate says so, too: .*17\.15 GiB allocated/);
  assert.match(await textOf(part(page, 'oom-request')), /^3\.91 GiB = fp32 log-probabilities, logits in fp32 \[4 × 2048 × 128 256\]/);
  assert.equal(await part(page, 'oom-doubts').count(), 0);
  assert.ok(await part(page, 'paste-use').isDisabled(), 'a message is no model');
  await axe(page);
  // A verified fix is applied with one click.
  const before = await link(page);
  await part(page, 'oom-helps').getByRole('button', { name: /Micro-batch of 1/ }).click();
  assert.ok(await until(async () => (await link(page)) !== before), 'the fix changes nothing');
  assert.doesNotMatch(await link(page), /&b=4(&|$)/);
  await page.keyboard.press('Escape');
  noConsoleErrors(page);
});

test('a memory snapshot is set beside the scenario that wrote it, and another file is refused by a sentence', async () => {
  const page = await open('v1&m=llama3-8b&l=4&n=1&gb=2&b=2&s=2048&prec=bf16-pure&ker=eager&att=flash&rc=full');
  await part(page, 'paste').click();
  const file = page.locator('input[data-change=paste-file]');
  const choose = (name, buffer) => file.setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
  await choose('snapshot.pickle', inflateSync(readFileSync(path.resolve(HERE, '../data/cuda/snapshots/llama-4-layers-stacks.pickle.zz'))));
  await part(page, 'snapshot').waitFor();
  const words = await textOf(part(page, 'snapshot'));
  assert.match(words, /^Memory snapshot of GPU 0: 2000 entries\./);
  assert.match(words, /Reserved by PyTorch ?20\.2 GiB ?20\.2 GiB/);
  assert.match(words, /Both sides hold the same tensors at their peaks\./);
  assert.ok(await part(page, 'paste-use').isDisabled(), 'a snapshot is no model');
  await axe(page);
  await screenshot(page, 'snapshot');
  await choose('other.pickle', Buffer.from('no pickle at all'));
  await part(page, 'paste-error').waitFor();
  assert.match(await textOf(part(page, 'paste-error')), /^This is no memory snapshot of PyTorch: .*_dump_snapshot/);
  await page.keyboard.press('Escape');
  noConsoleErrors(page);
});

test('a model’s files are read together: what they hold beside what is counted, of weights the header alone', async () => {
  const page = await open(BEFORE);
  await part(page, 'paste').click();
  const folder = path.resolve(HERE, '../data/checkpoints');
  const file = page.locator('input[data-change=paste-file]');
  await file.setInputFiles(path.join(folder, 'qwen3.gguf'));
  await until(async () => (await part(page, 'paste-understood').count()) > 0);
  assert.equal(await textOf(part(page, 'paste-understood')), 'small qwen3: 1.8 M parameters, all keys understood.');
  assert.match(await textOf(part(page, 'paste-stored').nth(1)), /^All are parameters that Headroom counts/);
  const sharded = ['config.json', 'model.safetensors.index.json', 'model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
  await file.setInputFiles(sharded.map((name) => path.join(folder, 'qwen2-sharded', name)));
  await until(async () => (await textOf(part(page, 'paste-understood'))).startsWith('Qwen2'));
  assert.match(await textOf(part(page, 'paste-stored').first()), /^38 tensors \(38 in BF16\) hold 1.797.376 numbers in 3\.59 MB\.$/);
  await axe(page);
  await part(page, 'paste-use').click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  assert.ok(await until(async () => (await answer(page)).headline.includes('Qwen2')), 'the files are not used');
  // A file that ends too soon is refused by a sentence.
  await part(page, 'paste').click();
  await file.setInputFiles({ name: 'cut.gguf', mimeType: 'application/octet-stream', buffer: readFileSync(path.join(folder, 'qwen3.gguf')).subarray(0, 200) });
  await part(page, 'paste-error').waitFor();
  assert.match(await textOf(part(page, 'paste-error')), /^cut\.gguf cannot be read: its header is longer than what was read of it\./);
  await page.keyboard.press('Escape');
  noConsoleErrors(page);
});

test('a name given in the dialog is the model’s, in links too, until another model is picked; undo takes all of it back', async () => {
  const page = await open(BEFORE);
  const before = await link(page);
  // With 61 layers the model is not in the catalog.
  await fill(page, 'gemma-3-27b.json', (text) => text.replace('"num_hidden_layers": 62', '"num_hidden_layers": 61'));
  await part(page, 'paste-name').fill('Our Gemma');
  await part(page, 'paste-use').click();
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await until(async () => (await answer(page)).headline.includes('Our Gemma'));
  assert.match((await answer(page)).headline, /Serving Our Gemma on/);
  assert.match(await link(page), /&mn=Our-Gemma&mt=gemma3&tmt=gemma3-text&.*&vision-of=gemma3&/);
  // The form names no catalog row, and marks no value as changed by hand.
  assert.equal(await input(page, 'm').inputValue(), 'Our Gemma');
  assert.equal(await input(page, 'mn').inputValue(), 'Our Gemma');
  assert.equal(await page.getByText('Edited. ').count(), 0);
  await input(page, 'mn').fill('');
  await until(async () => (await answer(page)).headline.includes('Gemma 3'));
  assert.match((await answer(page)).headline, /Serving Gemma 3 · 27\.0 B on/);
  assert.equal(await input(page, 'mn').getAttribute('placeholder'), 'Gemma 3 · 27.0 B');
  await part(page, 'undo').click();
  await part(page, 'undo').click();
  assert.equal(await link(page), before);
  assert.equal((await remarksOf(page)).length, 0);
  noConsoleErrors(page);
});

test('the card and the dialog can be read in both colours and on a phone', async () => {
  for (const colorScheme of ['light', 'dark']) {
    for (const [size, viewport] of [['desk', { width: 1280, height: 800 }], ['phone', { width: 390, height: 844 }]]) {
      const page = await open(BEFORE, { colorScheme, viewport, touch: size === 'phone' });
      assert.equal(await fill(page, 'llama3-8b.json', ofNoKnownKind), 'paste-unknown');
      await axe(page);
      await screenshot(page, `paste-unknown-${size}-${colorScheme}`, { fullPage: false });
      await part(page, 'paste-generic').click();
      await part(page, 'paste-report').waitFor();
      await axe(page);
      await screenshot(page, `paste-generic-${size}-${colorScheme}`, { fullPage: false });
      await part(page, 'paste-use').click();
      await page.getByRole('dialog').waitFor({ state: 'hidden' });
      await part(page, 'verdict').getByTestId('remark').first().waitFor();
      await axe(page);
      await part(page, 'verdict').evaluate((card) => card.scrollIntoView({ block: 'center', behavior: 'instant' }));
      await screenshot(page, `remark-${size}-${colorScheme}`, { fullPage: false });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
      assert.equal(wide, false, `${size} scrolls sideways`);
      noConsoleErrors(page);
      await page.close();
    }
  }
});
