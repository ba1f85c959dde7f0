import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Context, defineCommand } from '@goshawk/command';
import { InputError, present, RIGHTS, type Right, ROLES } from '@goshawk/core';
import type { ClusterKeys, RotationStep } from '@goshawk/transport';

const DEFAULT_FOLDER = 'goshawk-keys';
const TOKEN_BYTES = 32;
/** Default rights of a client's key. */
const DEFAULT_RIGHTS = 'submit,read-own';
/** Name of the key in `client.key`, which has all rights. */
const EVERYBODYS = 'client';

const AFTER_STEP: Readonly<Record<RotationStep, string>> = {
  prepared:
    'step 1 of 3, distribute the new keys: copy these files to all processes and clients, which reload them automatically, then run keygen --rotate again',
  switched:
    'step 2 of 3, use the new keys: copy these files to all processes and clients, then run keygen --rotate again',
  finished: 'step 3 of 3, remove the old keys: copy these files to all processes and clients',
};

export const keygenCommand = defineCommand({
  name: 'keygen',
  words: '[FOLDER]',
  describe: 'create the keys of a cluster, one file per role, and an HTTP token; only you can read them',
  examples: [
    ['goshawk keygen keys', 'central.key, scheduler.key, worker.key, client.key and http.token in keys/'],
    ['goshawk keygen keys --rotate', 'take the next of the three rotation steps'],
    ['goshawk keygen keys --client ci --rights submit,read-own', 'client.ci.key, the key of one client'],
    ['goshawk keygen keys --revoke ci', 'make that key invalid'],
    ['goshawk keygen keys --if-missing --kubernetes | kubectl apply -f -', 'as Kubernetes Secrets'],
  ],
  options: {
    rotate: { type: 'flag', flagOnly: true, describe: 'take the next step of a key rotation' },
    client: { type: 'text', value: 'NAME', flagOnly: true, describe: 'create a key for the client NAME' },
    rights: {
      type: 'text',
      value: 'RIGHTS',
      flagOnly: true,
      describe: `rights of the new key: ${RIGHTS.join(', ')} (default: submit,read-own)`,
    },
    revoke: {
      type: 'text',
      value: 'NAME',
      flagOnly: true,
      describe: 'revoke the key of the client NAME; for the name client, replace client.key',
    },
    ifMissing: { type: 'flag', flagOnly: true, describe: 'keep existing keys' },
    kubernetes: {
      type: 'flag',
      flagOnly: true,
      describe: 'print keys and token as Kubernetes Secret manifests',
    },
    namespace: { type: 'text', value: 'NAME', flagOnly: true, describe: 'namespace of the Secrets' },
  },
  async run(context, options, { words }) {
    const folder = resolve(context.cwd, words[0] ?? DEFAULT_FOLDER);
    const { rotate, ifMissing, client, revoke, rights } = options;
    const wishes = [rotate, ifMissing, client !== undefined, revoke !== undefined];
    if (wishes.filter(Boolean).length > 1) {
      const line = 'keygen: --rotate, --if-missing, --client and --revoke exclude each other';
      throw new InputError('usage', line, 'give one of them');
    }
    if (rights !== undefined && client === undefined)
      throw new InputError('usage', 'keygen: --rights needs --client', 'say of which');
    const made = await (rotate
      ? nextStep(folder)
      : client !== undefined
        ? newClient(folder, client, rights ?? DEFAULT_RIGHTS)
        : revoke !== undefined
          ? revoked(folder, revoke)
          : firstKeys(folder, ifMissing));
    const { keys, step } = made;
    const token = httpToken(folder);
    if (options.kubernetes) {
      for (const manifest of await manifests(keys, token, options.namespace)) context.out(manifest);
    } else if (context.global.json) {
      const { keyFileName } = await import('@goshawk/transport');
      const files = ROLES.map((role) => ({ role, path: resolve(folder, keyFileName(role)) }));
      context.json({ schema: 'goshawk.keygen/1', folder, files, step, client: made.client ?? null });
    }
    announce(context, folder, made);
  },
});

interface Made {
  readonly keys: ClusterKeys;
  readonly step: 'made' | 'kept' | 'client' | 'revoked' | RotationStep;
  /** Client whose key was created or revoked. */
  readonly client?: string;
}

async function firstKeys(folder: string, keep: boolean): Promise<Made> {
  const { generateKeys, keysIn, readKeyFolder, writeKeyFolder } = await import('@goshawk/transport');
  const there = keysIn(folder);
  if (there.length > 0 && keep) return { keys: readKeyFolder(folder), step: 'kept' };
  if (there.length > 0) {
    throw new InputError(
      'keys-exist',
      `keygen: keys already exist: ${there[0]}`,
      'give another folder, or --if-missing to keep them, or --rotate to replace them',
    );
  }
  const keys = generateKeys();
  writeKeyFolder(folder, keys);
  return { keys, step: 'made' };
}

async function nextStep(folder: string): Promise<Made> {
  const { followRotation, readClients, readKeyFolder, rotate, writeKeyFolder } = await import(
    '@goshawk/transport'
  );
  const { files, step } = rotate(readKeyFolder(folder));
  writeKeyFolder(
    folder,
    files,
    readClients(folder).map((client) => followRotation(client, files)),
  );
  return { keys: files, step };
}

async function newClient(folder: string, name: string, rights: string): Promise<Made> {
  const { addClient, isClientName, readKeyFolder, writeKeyFolder } = await import('@goshawk/transport');
  if (!isClientName(name)) {
    const hint = 'write 1 to 32 of a-z, 0-9, _ and -, a letter or digit first';
    throw new InputError('bad-name', `keygen: ${JSON.stringify(name)} is not a valid client name`, hint);
  }
  const { files, client } = addClient(readKeyFolder(folder), { name, rights: rightsIn(rights) });
  writeKeyFolder(folder, files, [client]);
  return { keys: files, step: 'client', client: name };
}

function rightsIn(text: string): Right[] {
  return text.split(',').map((word) => {
    const right = RIGHTS.find((known) => known === word.trim());
    if (right !== undefined) return right;
    throw new InputError(
      'usage',
      `keygen: there is no right ${JSON.stringify(word)}`,
      `rights: ${RIGHTS.join(', ')}`,
    );
  });
}

async function revoked(folder: string, name: string): Promise<Made> {
  const { clientsIn, keyFileName, readKeyFolder, removeClient, replaceClientKey, writeKeyFolder } =
    await import('@goshawk/transport');
  const before = readKeyFolder(folder);
  const keys = name === EVERYBODYS ? replaceClientKey(before) : removeClient(before, name);
  if (keys === undefined) {
    const known = [...clientsIn(before).map((client) => client.name), EVERYBODYS].join(', ');
    throw new InputError(
      'unknown-client',
      `keygen: there is no key for a client named ${name}`,
      `there are ${known}`,
    );
  }
  writeKeyFolder(folder, keys);
  if (name !== EVERYBODYS) rmSync(join(folder, keyFileName('client', name)), { force: true });
  return { keys, step: 'revoked', client: name };
}

/** Bearer token for HTTP beyond loopback. It is stored beside the keys and does not change. */
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

/**
 * Returns one Secret per role, so that a pod has only its own keys, and one for the token, which scrapers
 * need.
 */
async function manifests(keys: ClusterKeys, token: string, namespace: string | undefined): Promise<string[]> {
  const { keyFileName } = await import('@goshawk/transport');
  const ofRoles = ROLES.map((role) => {
    const key = { [keyFileName(role)]: JSON.stringify(keys[role]) };
    return secret(`goshawk-${role}-key`, role, namespace, key);
  });
  return [...ofRoles, secret('goshawk-http-token', 'http', namespace, { token })];
}

/** Returns a manifest in JSON, which is valid YAML. */
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
      ...present({ namespace }),
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

function announce(context: Context, folder: string, { step, client }: Made): void {
  const bring =
    'copy central.key, scheduler.key and worker.key to their processes, which reload them within 2 s';
  if (step === 'client') return context.note(`client.${client}.key is the key of ${client}; ${bring}`);
  if (step === 'revoked') return context.note(`the key of ${client} is revoked; ${bring}`);
  if (step === 'kept') return context.note(`the keys in ${folder} are kept`);
  if (step !== 'made') return context.note(`${folder}: ${AFTER_STEP[step]}`);
  context.note(`the keys of a cluster are in ${folder}: give each process only its own key`);
  context.note(`goshawk central --bind tcp://0.0.0.0:7070 --advertise tcp://HOST:7070 --keys ${folder}`);
}
