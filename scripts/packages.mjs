// Folders of the packages of this repository, which package.json lists as workspaces.
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Folders that contain packages. Packages for researchers are apart, because no daemon needs them. */
const PARENTS = ['packages', 'packages/research'];

/** Returns the folder of each package by its name without scope, relative to the root. */
export function packageFolders() {
  const found = PARENTS.flatMap((parent) =>
    readdirSync(`${ROOT}${parent}`)
      .filter((name) => existsSync(`${ROOT}${parent}/${name}/package.json`))
      .map((name) => [name, `${parent}/${name}`]),
  );
  return new Map(found);
}
