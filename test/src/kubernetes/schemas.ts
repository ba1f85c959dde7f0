import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Manifest, ROOT } from './manifests.js';

/** The package that contains the kinds of an API group. */
function packageOf(apiVersion: string): string {
  return apiVersion.startsWith('monitoring.coreos.com/')
    ? '@kubernetes-models/prometheus-operator'
    : 'kubernetes-models';
}

type ModelClass = new (manifest: Manifest) => { validate(): void };

/** Returns fields with the wrong type and missing fields, according to the API's schemas. One line each. */
export async function wrongTypes(manifests: readonly Manifest[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const manifest of manifests) {
    const { apiVersion, kind, metadata } = manifest;
    const module = (await import(`${packageOf(apiVersion)}/${apiVersion}`)) as Record<string, ModelClass>;
    const Model = module[kind];
    if (Model === undefined) {
      wrong.push(`${kind} ${metadata.name}: there is no such kind in ${apiVersion}`);
      continue;
    }
    try {
      new Model(manifest).validate();
    } catch (error) {
      wrong.push(`${kind} ${metadata.name}: ${(error as Error).message}`);
    }
  }
  return wrong;
}

/**
 * Returns fields that the API does not know. Its schemas and old servers accept them silently, but the compiler does
 * not: each manifest becomes a literal of its kind's type.
 */
export async function unknownFields(manifests: readonly Manifest[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'goshawk-manifests-'));
  try {
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n');
    await writeFile(join(folder, 'manifests.ts'), manifests.map(asLiteral).join('\n'));
    return await compile(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** On one line, so that each line of the compiler's output belongs to one manifest. */
function asLiteral(manifest: Manifest, index: number): string {
  const { apiVersion, kind } = manifest;
  const type = `import('${packageOf(apiVersion)}/${apiVersion}').I${kind}`;
  return `export const manifest${index}: ${type} = ${JSON.stringify(manifest)};`;
}

function compile(folder: string): Promise<string[]> {
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023'];
  return new Promise((resolve) => {
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    execFile(tsc, [...options, 'manifests.ts'], { cwd: folder }, (error, stdout) => {
      const lines = stdout.split('\n').filter((line) => line.trim() !== '');
      resolve(error !== null && lines.length === 0 ? [error.message] : lines);
    });
  });
}
