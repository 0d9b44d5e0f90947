// Links as they are sent around: their answer needs the first part of the program only. `cargo xtask later` learns from them what that is
// (first-visit.mjs), and parts.test.mjs opens them without the second part.

export const PLAIN_LINKS = [
  'v1&c=rf6&m=llama3-70b&n=64&z=2',
  'v1&m=qwen2.5-7b&gpu=a100-80&n=8&s=4096&b=4&gb=64',
  'v1&m=llama2-7b&gpu=a100-40&n=4&z=3&rc=none&prec=bf16-pure',
  'v1&m=mistral-7b&opt=adamw8&n=2&u=gb',
  'v1&m=llama3-405b&n=16384&tp=8&pp=16',
];
