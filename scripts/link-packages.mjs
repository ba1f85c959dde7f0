#!/usr/bin/env node
// Links packages of this repository that were added since the last `npm install`, so that a pull needs no install.
import { existsSync, readdirSync, symlinkSync } from 'node:fs';

const root = new URL('..', import.meta.url);
const scope = new URL('node_modules/@goshawk/', root);
for (const name of readdirSync(new URL('packages', root))) {
  const link = new URL(name, scope);
  if (existsSync(new URL(`packages/${name}/package.json`, root)) && existsSync(scope) && !existsSync(link))
    symlinkSync(`../../packages/${name}`, link);
}
