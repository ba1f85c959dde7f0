import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Context, defineCommand, refuseSurplusWords, valueListsIn } from '@goshawk/command';
import { amountsIn } from '@goshawk/command/cluster';
import {
  InputError,
  nameProblem,
  parseDuration,
  present,
  quoted,
  RIGHTS,
  type Right,
  ROLES,
  type Role,
  shellWord,
} from '@goshawk/core';
import type { ClusterKeys, KeyFile, RotationStep, WorkerBounds } from '@goshawk/transport';
import { expandNames } from '../expand-names.js';
import { admitted, afterChange, keysFolder, readFolder, revokeKey, writeFolder } from './keys-folder.js';

const TOKEN_BYTES = 32;
/** Default rights of a client's key. */
const DEFAULT_RIGHTS = 'submit,read-own';
/** Rights of the client keys of Kubernetes components (k8s/). These components never submit jobs. */
const COMPONENTS: Readonly<Record<string, string>> = { 'node-drain': 'drain', autoscale: 'drain' };

const AFTER_STEP: Readonly<Record<RotationStep, string>> = {
  prepared:
    'step 1 of 3, distribute the new keys: copy these files to all processes and clients, which reload them automatically, then run keygen --rotate again',
  switched:
    'step 2 of 3, use the new keys: copy these files to all processes and clients, then run keygen --rotate again',
  finished: 'step 3 of 3, remove the old keys: copy these files to all processes and clients',
};

export const keygenCommand = defineCommand({
  name: 'keygen',
  words: '[worker|scheduler|client NAME] [FOLDER]',
  describe: 'create the keys of a cluster (one file per role) and an HTTP token, or an individual key',
  examples: [
    [
      'goshawk keygen keys',
      'create central.key, scheduler.key, worker.key, client.key and http.token in keys/',
    ],
    ['goshawk keygen keys --rotate', 'take the next of the three rotation steps'],
    ['goshawk keygen worker w7 keys', 'create keys/worker.w7.key, which only the worker w7 uses'],
    ['goshawk keygen client ci keys --rights submit,read-own --expires 30d', 'keys/client.ci.key'],
    ['goshawk keys revoke w7 keys', 'revoke a key'],
    [
      'goshawk keygen keys --if-missing --kubernetes | kubectl apply -f -',
      'print the keys as Kubernetes Secrets',
    ],
  ],
  needsNoCluster: true,
  options: {
    rotate: { type: 'flag', setting: false, describe: 'perform the next step of a key rotation' },
    client: {
      type: 'text',
      value: 'NAME',
      setting: false,
      rare: true,
      describe: 'the same as `goshawk keygen client NAME`',
    },
    rights: {
      type: 'text',
      value: 'RIGHTS',
      setting: false,
      describe: `rights of a client’s key: ${RIGHTS.join(', ')} (default: submit,read-own)`,
    },
    expires: {
      type: 'text',
      value: 'DURATION',
      setting: false,
      describe: 'time until an individual key expires, such as 30d (default: never)',
    },
    names: {
      type: 'text',
      value: 'NAMES',
      setting: false,
      describe:
        'comma-separated process names that the key permits, such as w[0-9] or gpu-* (default: the name of the key)',
    },
    attribute: {
      type: 'texts',
      value: 'NAME=VALUES',
      setting: false,
      describe:
        'the only values of an attribute that the key of a worker permits, and other keys do not: zone=secure; repeatable',
    },
    capacity: {
      type: 'text',
      value: 'NAME=AMOUNT,…',
      setting: false,
      describe:
        'most that the key of a worker permits one worker to have: cpu=16,memory=64GiB (default: any)',
    },
    revoke: {
      type: 'text',
      value: 'NAME',
      setting: false,
      rare: true,
      describe: 'the same as `goshawk keys revoke NAME`',
    },
    ifMissing: { type: 'flag', setting: false, describe: 'keep existing keys' },
    kubernetes: {
      type: 'flag',
      setting: false,
      describe: 'print keys and token as Kubernetes Secret manifests',
    },
    namespace: { type: 'text', value: 'NAME', setting: false, describe: 'namespace of the Secrets' },
  },
  async run(context, options, { words }) {
    const individual = await individualOf(words, options);
    const isInWords = individual !== undefined && options.client === undefined;
    const place = isInWords ? 2 : 0;
    // A misspelled role would otherwise become the folder.
    refuseSurplusWords('keygen', words, place + 1);
    const folder = keysFolder(context, words[place]);
    const { rotate, ifMissing, revoke, rights, names, expires } = options;
    const wishes = [rotate, ifMissing, individual !== undefined, revoke !== undefined];
    if (wishes.filter(Boolean).length > 1) {
      const line = 'keygen: an individual key, --rotate, --if-missing and --revoke cannot be used together';
      throw new InputError('usage', line, 'use one of them');
    }
    if (rights !== undefined && individual?.role !== 'client')
      throw new InputError(
        'usage',
        'keygen: --rights applies only to the key of a client',
        '`goshawk keygen client NAME` creates one',
      );
    if (names !== undefined && (individual === undefined || individual.role === 'client'))
      throw new InputError(
        'usage',
        'keygen: --names applies only to the key of a worker or scheduler',
        '`goshawk keygen worker NAME` creates one',
      );
    if ((options.attribute.length > 0 || options.capacity !== undefined) && individual?.role !== 'worker')
      throw new InputError(
        'usage',
        'keygen: --attribute and --capacity apply only to the key of a worker',
        '`goshawk keygen worker NAME` creates one',
      );
    if (expires !== undefined && individual === undefined)
      throw new InputError(
        'usage',
        'keygen: --expires applies only to an individual key',
        '`goshawk keygen worker NAME` creates one',
      );
    const made = await (rotate
      ? nextStep(folder)
      : individual !== undefined
        ? newKey(folder, individual, options)
        : revoke !== undefined
          ? revoked(folder, revoke)
          : firstKeys(folder, ifMissing));
    const { step } = made;
    const token = httpToken(folder);
    if (options.kubernetes) {
      for (const manifest of await manifests(folder, token, options.namespace)) context.out(manifest);
    } else if (context.global.json) {
      const { keyFileName } = await import('@goshawk/transport');
      const files = ROLES.map((role) => ({ role, path: resolve(folder, keyFileName(role)) }));
      context.json({
        schema: 'goshawk.keygen/1',
        folder,
        files,
        step,
        client: made.step === 'client' || made.step === 'revoked' ? (made.name ?? null) : null,
        key: made.file ?? null,
      });
    }
    announce(context, folder, made);
  },
});

interface KeyChange {
  readonly keys: ClusterKeys;
  readonly step: 'made' | 'kept' | 'client' | 'worker' | 'scheduler' | 'revoked' | RotationStep;
  /** Name of the individual key that was created or revoked. */
  readonly name?: string;
  /** File of the individual key that was created. */
  readonly file?: string;
}

interface IndividualKey {
  readonly role: Exclude<Role, 'central'>;
  readonly name: string;
}

/** Returns role and name of the requested individual key; undefined: the keys of a cluster are requested. */
async function individualOf(
  [role, name]: readonly string[],
  { client }: { readonly client?: string | undefined },
): Promise<IndividualKey | undefined> {
  if (role === 'central' && name !== undefined)
    throw new InputError(
      'usage',
      'keygen: central has no individual keys, only central.key',
      'replace it with --rotate',
    );
  const wanted = ROLES.find((known) => known === role);
  const given =
    client !== undefined
      ? ({ role: 'client', name: client } as const)
      : wanted === undefined || wanted === 'central'
        ? undefined
        : { role: wanted, name };
  if (given === undefined) return undefined;
  const { isKeyName } = await import('@goshawk/transport');
  if (isKeyName(given.name)) return { role: given.role, name: given.name };
  throw new InputError(
    'bad-name',
    given.name === undefined
      ? `keygen: ${given.role} needs a NAME`
      : `keygen: ${JSON.stringify(given.name)} is not a valid key name`,
    'use 1 to 32 characters (a-z, 0-9, _ and -), starting with a letter or digit; not a role',
  );
}

async function firstKeys(folder: string, keep: boolean): Promise<KeyChange> {
  const { generateKeys, keysIn, readKeyFolder, writeKeyFolder } = await import('@goshawk/transport');
  const existing = keysIn(folder);
  if (existing.length > 0 && keep) return { keys: readKeyFolder(folder), step: 'kept' };
  if (existing.length > 0) {
    throw new InputError(
      'keys-exist',
      `keygen: keys already exist: ${existing[0]}`,
      'use another folder, --if-missing to keep them, or --rotate to replace them',
    );
  }
  const keys = generateKeys();
  writeKeyFolder(folder, keys);
  return { keys, step: 'made' };
}

async function nextStep(folder: string): Promise<KeyChange> {
  const { rotate } = await import('@goshawk/transport');
  const { keys, individuals } = await readFolder(folder);
  const { files, step } = rotate(keys);
  await writeFolder(folder, files, individuals);
  return { keys: files, step };
}

async function newKey(
  folder: string,
  { role, name }: IndividualKey,
  options: Readonly<Record<'rights' | 'names' | 'expires' | 'capacity', string | undefined>> & {
    readonly attribute: readonly string[];
  },
): Promise<KeyChange> {
  const { addClient, addMember, keyFileName } = await import('@goshawk/transport');
  const { keys, individuals } = await readFolder(folder);
  const other = admitted(keys).find((key) => key.name === name && key.role !== role);
  if (other !== undefined)
    throw new InputError(
      'name-taken',
      `keygen: ${name} is already the name of a ${other.role} key`,
      'choose another name',
    );
  const { names, rights } = options;
  const expires = options.expires === undefined ? undefined : expiryIn(options.expires);
  let files: ClusterKeys;
  let own: KeyFile;
  if (role === 'client') {
    const given = { name, rights: rightsIn(rights ?? DEFAULT_RIGHTS), ...present({ expires }) };
    ({ files, client: own } = addClient(keys, given));
  } else {
    const patterns = names === undefined ? undefined : namesIn(names);
    const bounds = boundsIn(options);
    ({ files, member: own } = addMember(keys, {
      role,
      name,
      ...present({ names: patterns, expires, ...bounds }),
    }));
  }
  await writeFolder(folder, files, [...individuals.filter((file) => file.name !== name), own]);
  return { keys: files, step: role, name, file: join(folder, keyFileName(role, name)) };
}

function boundsIn({
  attribute,
  capacity,
}: {
  readonly attribute: readonly string[];
  readonly capacity: string | undefined;
}): WorkerBounds {
  const values = valueListsIn(attribute, { option: '--attribute', hint: 'for example zone=secure' });
  const hint = 'write it as cpu=16,memory=64GiB';
  return {
    attributes: values.size === 0 ? undefined : Object.fromEntries(values),
    capacity:
      capacity === undefined ? undefined : amountsIn(capacity.split(','), { option: '--capacity', hint }),
  };
}

/** Returns the time as an ISO date, whose year has four digits in key files. */
function expiryIn(text: string): string {
  const ms = parseDuration(text, '--expires');
  const at = new Date(Date.now() + ms);
  if (ms > 0 && at.getUTCFullYear() <= 9_999) return at.toISOString();
  throw new InputError(
    'bad-option',
    `--expires: a key cannot expire in ${quoted(text)}`,
    'write a time between now and the year 9999, such as 90d',
  );
}

function namesIn(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim());
  const names = parts.flatMap((part) => (/[*?]/.test(part) ? [part] : expandNames(part, '--names')));
  const bad = names.find((name) => nameProblem(name) !== undefined);
  if (names.length > 0 && bad === undefined) return names;
  const problem = bad === undefined ? 'there are no names' : `${quoted(bad)}: ${nameProblem(bad)}`;
  throw new InputError('bad-option', `--names: ${problem}`, 'pass names such as w[0-9] or gpu-*');
}

async function revoked(folder: string, name: string): Promise<KeyChange> {
  return { keys: await revokeKey(folder, name), step: 'revoked', name };
}

function rightsIn(text: string): Right[] {
  return text.split(',').map((word) => {
    const right = RIGHTS.find((known) => known === word.trim());
    if (right !== undefined) return right;
    throw new InputError(
      'usage',
      `keygen: unknown right ${JSON.stringify(word)}`,
      `rights: ${RIGHTS.join(', ')}`,
    );
  });
}

/** Returns the bearer token for HTTP, which is stored beside the keys. Creates it if it is missing. */
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
 * Returns one Secret for each role and component, so that a pod has only its own keys, one for the HTTP token, which scrapers
 * need, and one for its hash, which suffices for pods, whose tasks can read it. Creates missing keys of components.
 */
async function manifests(folder: string, token: string, namespace: string | undefined): Promise<string[]> {
  const { keyFileName } = await import('@goshawk/transport');
  const { individuals: before } = await readFolder(folder);
  for (const [name, rights] of Object.entries(COMPONENTS))
    if (!before.some((file) => file.role === 'client' && file.name === name))
      await newKey(
        folder,
        { role: 'client', name },
        {
          rights,
          names: undefined,
          expires: undefined,
          capacity: undefined,
          attribute: [],
        },
      );
  const { keys, individuals } = await readFolder(folder);
  const ofRoles = ROLES.map((role) => {
    const key = { [keyFileName(role)]: JSON.stringify(keys[role]) };
    return secret(`goshawk-${role}-key`, role, namespace, key);
  });
  const ofComponents = Object.keys(COMPONENTS).map((name) => {
    const file = individuals.find((each) => each.role === 'client' && each.name === name)!;
    const key = { [keyFileName('client', name)]: JSON.stringify(file) };
    return secret(`goshawk-${name}-key`, 'client', namespace, key);
  });
  const hash = `sha256:${createHash('sha256').update(token).digest('hex')}`;
  return [
    ...ofRoles,
    ...ofComponents,
    secret('goshawk-http-token', 'http', namespace, { token }),
    secret('goshawk-http-token-hash', 'http', namespace, { token: hash }),
  ];
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

function announce(context: Context, folder: string, { step, name, file }: KeyChange): void {
  const admit = afterChange(folder);
  if (file !== undefined) return context.note(`${file} is the key of the ${step} ${name}; ${admit}`);
  if (step === 'revoked') return context.note(`the key of ${name} is revoked; ${admit}`);
  if (step === 'kept') return context.note(`the keys in ${folder} are kept`);
  if (step === 'prepared' || step === 'switched' || step === 'finished')
    return context.note(`${folder}: ${AFTER_STEP[step]}`);
  context.note(`the keys of a cluster are in ${folder}: copy to each process only its own key`);
  context.note(
    `goshawk central --bind tcp://0.0.0.0:7070 --advertise tcp://HOST:7070 --keys ${shellWord(`${folder}/central.key`)}`,
  );
  context.note(`goshawk keygen worker w0 ${shellWord(folder)} creates the key of one worker`);
}
