// The engine as a package: in Node and in a browser it gives the command line's answers.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { noConsoleErrors, openPage, serve } from './harness.mjs';

const PACKAGE = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../dist-package');
const skip = process.env.HEADROOM_PACKAGE !== '1' && 'needs `cargo xtask build --package`';

const COMMAND = 'vllm serve Qwen/Qwen2.5-72B-Instruct -tp 4 --max-model-len 32768 --frobnicate';

test('Node gets an answer with every setting, and errors are sentences', { skip }, async () => {
  const { estimate, tools, write } = await import(pathToFileURL(path.join(PACKAGE, 'node/headroom.js')).href);
  const read = estimate(COMMAND);
  assert.equal(read.format, 'vllm');
  assert.match(read.link, /^v2&.*m=qwen2\.5-72b/);
  assert.equal(typeof read.answer.total_bytes, 'number');
  assert.deepEqual(read.report.filter((row) => row.way === 'not understood').map((row) => row.flag), ['frobnicate']);
  assert.ok(read.answer.ledger.every((line) => line.source && line.certainty));
  assert.match(write(read.link, 'vllm'), /vllm serve Qwen\/Qwen2\.5-72B.*--tensor-parallel-size 4/s);
  assert.ok(tools().some((tool) => tool.key === 'vllm'));
  assert.throws(() => estimate('good morning'), /begin with the program/);
});

test('a browser gets what Node gets', { skip }, async () => {
  const { estimate } = await import(pathToFileURL(path.join(PACKAGE, 'node/headroom.js')).href);
  const server = await serve(() => PACKAGE);
  try {
    const page = await openPage({
      url: `${server.url}package.json`,
      // The browser asks for an icon, which the package does not have.
      prepare: (page) => page.route('**/favicon.ico', (route) => route.fulfill({ status: 204 })),
    });
    const answer = await page.evaluate(async ({ script, command }) => {
      const engine = await import(script);
      await engine.default();
      return engine.estimate(command);
    }, { script: `${server.url}web/headroom.js`, command: COMMAND });
    assert.deepEqual(answer, estimate(COMMAND));
    noConsoleErrors(page);
  } finally {
    server.close();
  }
});

test('every folder has its types', { skip }, () => {
  for (const folder of ['bundler', 'node', 'web']) assert.ok(existsSync(path.join(PACKAGE, folder, 'headroom.d.ts')), folder);
});
