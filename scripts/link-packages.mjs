#!/usr/bin/env node
// Links packages of this repository that were added or moved since the last `npm install`, so that a pull needs no install.
import { existsSync, lstatSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { packageFolders } from './packages.mjs';

const scope = new URL('../node_modules/@goshawk/', import.meta.url);
if (existsSync(scope)) {
  for (const [name, folder] of packageFolders()) {
    const link = new URL(name, scope);
    const target = `../../${folder}`;
    const isLink = lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    if (isLink && readlinkSync(link) === target) continue;
    rmSync(link, { force: true });
    symlinkSync(target, link);
  }
}
