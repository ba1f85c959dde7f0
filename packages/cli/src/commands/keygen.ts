import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { InputError, ROLES } from '@goshawk/core';
import type { ClusterKeys, RotationStep } from '@goshawk/transport';
import { defineCommand, ExitCode } from '../command.js';
import type { Context } from '../context.js';

const DEFAULT_FOLDER = 'goshawk-keys';
const TOKEN_BYTES = 32;

const AFTER_STEP: Readonly<Record<RotationStep, string>> = {
  prepared:
    'everybody is to know new keys: bring these files to all processes and clients and restart them one at a time, then run keygen --rotate again',
  switched:
    'the new keys are to be used: bring these files to all processes and clients and restart them one at a time, then run keygen --rotate again',
  finished:
    'the old keys are to be forgotten: bring these files to all processes and clients and restart them one at a time',
};

export const keygenCommand = defineCommand({
  name: 'keygen',
  words: '[FOLDER]',
  wordsMax: 1,
  describe:
    'make the keys of a cluster, a file for each role, and a token for HTTP, for the owner’s eyes only',
  examples: [
    ['goshawk keygen keys', 'central.key, scheduler.key, worker.key, client.key and http.token in keys/'],
    ['goshawk keygen keys --rotate', 'the next of the three steps in which keys are replaced'],
    ['goshawk keygen keys --if-missing --kubernetes | kubectl apply -f -', 'as Secrets of Kubernetes'],
  ],
  options: {
    rotate: { type: 'flag', flagOnly: true, describe: 'take the next step of a rotation' },
    ifMissing: { type: 'flag', flagOnly: true, describe: 'keep the keys that are there' },
    kubernetes: {
      type: 'flag',
      flagOnly: true,
      describe: 'print them as Secret manifests, and one of a token for HTTP',
    },
    namespace: { type: 'text', flagOnly: true, describe: 'of the Secrets' },
  },
  async run(context, options, { words }) {
    const folder = resolve(context.cwd, words[0] ?? DEFAULT_FOLDER);
    if (options.rotate && options.ifMissing) {
      throw new InputError(
        'usage',
        'keygen: --rotate and --if-missing exclude each other',
        'give one of them',
      );
    }
    const { keys, step } = await (options.rotate ? nextStep(folder) : firstKeys(folder, options.ifMissing));
    const token = httpToken(folder);
    if (options.kubernetes) {
      const made = await manifests(keys, token, options.namespace);
      for (const manifest of made) context.out(manifest);
    } else if (context.global.json) {
      const { keyFileName } = await import('@goshawk/transport');
      const files = ROLES.map((role) => ({ role, path: resolve(folder, keyFileName(role)) }));
      context.json({ schema: 'goshawk.keygen/1', folder, files, step });
    }
    announce(context, folder, step);
    return ExitCode.done;
  },
});

interface Made {
  readonly keys: ClusterKeys;
  readonly step: 'made' | 'kept' | RotationStep;
}

async function firstKeys(folder: string, keep: boolean): Promise<Made> {
  const { generateKeys, keysIn, readKeyFolder, writeKeyFolder } = await import('@goshawk/transport');
  const there = keysIn(folder);
  if (there.length > 0 && keep) return { keys: readKeyFolder(folder), step: 'kept' };
  if (there.length > 0) {
    throw new InputError(
      'keys-exist',
      `keygen: there are keys already: ${there[0]}`,
      'give another folder, --if-missing to keep them, or --rotate to replace them',
    );
  }
  const keys = generateKeys();
  writeKeyFolder(folder, keys);
  return { keys, step: 'made' };
}

async function nextStep(folder: string): Promise<Made> {
  const { readKeyFolder, rotate, writeKeyFolder } = await import('@goshawk/transport');
  const { files, step } = rotate(readKeyFolder(folder));
  writeKeyFolder(folder, files);
  return { keys: files, step };
}

/** What HTTP asks for beyond loopback. It is kept beside the keys, and stays the same. */
function httpToken(folder: string): string {
  const path = join(folder, 'http.token');
  if (!existsSync(path)) {
    writeFileSync(path, `${randomBytes(TOKEN_BYTES).toString('base64url')}\n`, {
      mode: 0o600,
      flag: 'wx',
    });
  }
  return readFileSync(path, 'utf8').trim();
}

/** One Secret a role, so that a pod is given its own and no other; and the token, which whoever scrapes has too. */
async function manifests(keys: ClusterKeys, token: string, namespace: string | undefined): Promise<string[]> {
  const { keyFileName } = await import('@goshawk/transport');
  const ofRoles = ROLES.map((role) => {
    const key = { [keyFileName(role)]: JSON.stringify(keys[role]) };
    return secret(`goshawk-${role}-key`, role, namespace, key);
  });
  return [...ofRoles, secret('goshawk-http-token', 'http', namespace, { token })];
}

/** JSON is YAML. */
function secret(
  name: string,
  component: string,
  namespace: string | undefined,
  stringData: Readonly<Record<string, string>>,
): string {
  const manifest = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: {
        'app.kubernetes.io/name': 'goshawk',
        'app.kubernetes.io/part-of': 'goshawk',
        'app.kubernetes.io/component': component,
      },
    },
    type: 'Opaque',
    stringData,
  };
  return `---\n${JSON.stringify(manifest, undefined, 2)}`;
}

function announce(context: Context, folder: string, step: Made['step']): void {
  if (step === 'kept') return context.note(`the keys in ${folder} are kept`);
  if (step !== 'made') return context.note(`${folder}: ${AFTER_STEP[step]}`);
  context.note(`the keys of a cluster are in ${folder}: give each process its own, and nobody another’s`);
  context.note(`goshawk central --bind tcp://0.0.0.0:7070 --advertise tcp://HOST:7070 --keys ${folder}`);
}
