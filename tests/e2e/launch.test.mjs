// Commands and files of other tools, pasted, chosen or dropped; their writing in the share dialog;
// and the list of models that fit.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { axe, noConsoleErrors, screenshot } from './harness.mjs';
import { answer, link, open, part, pasteText, plain, sameAsCommand, textOf, until } from './steps.mjs';

const COMMAND = 'vllm serve Qwen/Qwen2.5-72B-Instruct \\\n  --tensor-parallel-size 4 --max-model-len 32768 --frobnicate 3\n';

test('a pasted command is read with every setting, used with one click, and undone with one', async () => {
  const { page } = { page: await open('v2&gpu=h200') };
  const before = (await answer(page)).headline;
  await pasteText(page, COMMAND);
  await part(page, 'paste-report').waitFor();
  assert.match(await textOf(part(page, 'paste-understood')), /Serving Qwen2\.5 72B on 4 × H200.*vLLM/s);
  assert.match(plain(await part(page, 'paste-report').locator('tbody tr').first().textContent()), /frobnicate.*not understood/);
  await axe(page);
  await screenshot(page, 'launch-report');
  await part(page, 'paste-use').click();
  assert.ok(await until(async () => /Serving Qwen2\.5 72B on 4 × H200/.test((await answer(page)).headline)), 'the command is not used');
  assert.match((await part(page, 'verdict').getByTestId('remark').allTextContents()).map(plain).join(' '), /Not counted of the command: frobnicate/);
  await sameAsCommand(page);
  await page.keyboard.press('Control+z');
  assert.ok(await until(async () => (await answer(page)).headline === before), 'undo does not lead back');
  noConsoleErrors(page);
});

test('a command that is pasted into the field at the top of the form opens the dialog with its report', async () => {
  const page = await open();
  await part(page, 'paste').focus();
  await page.keyboard.insertText(COMMAND);
  await part(page, 'paste-report').waitFor();
  assert.equal(await part(page, 'paste-text').inputValue(), COMMAND);
  await part(page, 'paste-use').click();
  await until(async () => /Serving Qwen2\.5 72B on 4 × /.test((await answer(page)).headline));
  assert.equal(await part(page, 'paste').inputValue(), '', 'the field is empty for the next text');
  noConsoleErrors(page);
});

test('a value that is none is named with its line and column', async () => {
  const page = await open();
  await pasteText(page, 'vllm serve a/b \\\n  -tp two');
  assert.match(await textOf(part(page, 'paste-error')), /^Line 2, column 3: `tp` takes a whole number/);
  assert.equal(await part(page, 'paste-use').isDisabled(), true);
  noConsoleErrors(page);
});

test('a script and the file beside it are chosen together', async () => {
  const page = await open();
  await part(page, 'paste').click();
  const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
  await page.locator('[data-change=paste-file]').setInputFiles([
    file('serve.sh', 'vllm serve ./my-model --max-model-len 4096'),
    file('config.json', JSON.stringify({ model_type: 'llama', hidden_size: 4096, num_hidden_layers: 40, num_attention_heads: 32, num_key_value_heads: 8, intermediate_size: 14336, vocab_size: 128256 })),
  ]);
  await part(page, 'paste-report').waitFor();
  await part(page, 'paste-use').click();
  assert.ok(await until(async () => /Serving Llama · 9\.8 B/.test((await answer(page)).headline)), 'the script is not used');
  noConsoleErrors(page);
});

test('a file that is dropped anywhere on the page is read', async () => {
  const page = await open();
  await page.evaluate((text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], 'serve.sh'));
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  }, COMMAND);
  await part(page, 'paste-report').waitFor();
  noConsoleErrors(page);
});

test('the share dialog writes the scenario as a command', async () => {
  const page = await open('v2&do=serve&m=llama3-8b&srv=vllm&n=2&tp=2&ctx=16384');
  await part(page, 'share').click();
  const command = page.locator('#command-vllm');
  await command.waitFor({ state: 'attached' });
  assert.match(await command.inputValue(), /vllm serve meta-llama\/Meta-Llama-3-8B.*--max-model-len 16384.*--tensor-parallel-size 2/s);
  noConsoleErrors(page);
});

test('what fits these GPUs is a list whose rows open as scenarios', async () => {
  const page = await open('v2&do=tune&m=llama3-8b&gpu=rtx4090&n=1&s=1024');
  await part(page, 'fits-ask').click();
  await part(page, 'fits').waitFor();
  await part(page, 'fits-panel').getByRole('button', { name: 'QLoRA', exact: true }).click();
  const row = part(page, 'fits').getByRole('link', { name: 'Qwen2.5 32B', exact: true });
  await row.waitFor();
  await axe(page);
  await screenshot(page, 'what-fits');
  await row.click();
  assert.ok(await until(async () => /Qwen2\.5 32B/.test((await answer(page)).headline)), 'the row does not open');
  assert.match(await link(page), /ft=qlora/);
  noConsoleErrors(page);
});
