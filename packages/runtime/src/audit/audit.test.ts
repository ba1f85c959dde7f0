import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Address, MESSAGE_TYPES, type Message, rightsFor } from '@goshawk/core';
import { recordingLogger } from '@goshawk/transport/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Audit, type AuditEntry } from './audit.js';
import { RotatedFile } from './rotated-file.js';

const CLIENT = 5 as Address;
const SECRET = {
  user: 'ann',
  name: 'nightly',
  tasks: [{ exec: ['curl', '-H', 'secret'], env: { TOKEN: 'secret' } }],
};

describe('an audit log', () => {
  const written: AuditEntry[] = [];
  let audit: Audit;
  let owner: string | undefined;
  let key = 'ci';
  let now = 0;

  beforeEach(() => {
    written.length = 0;
    owner = undefined;
    key = 'ci';
    now = 0;
    audit = new Audit({
      write: (entry) => written.push(entry),
      keyOf: () => key,
      clock: () => now,
      ownerOf: () => owner,
      nameOf: () => 'client:ci.x',
      addressOf: () => '10.0.0.7',
    });
  });

  const submit = { type: 'submit', request: 1, key: 'k', spec: SECRET } as unknown as Message;

  it('has one line for an answered submission, with user, origin, action and time', () => {
    audit.asked(CLIENT, submit);
    expect(written).toEqual([]);
    const answer = {
      type: 'accepted',
      request: 1,
      value: { job: 's-1', state: 'waiting' },
    } as unknown as Message;
    audit.recordAnswer(CLIENT, answer, 's0');
    audit.recordAnswer(CLIENT, answer, 's0');
    expect(written).toEqual([
      {
        schema: 'goshawk.audit/1',
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        action: 'submit',
        outcome: 'done',
        key: 'ci',
        client: 'client:ci.x',
        from: '10.0.0.7',
        by: 's0',
        idempotencyKey: 'k',
        name: 'nightly',
        user: 'ann',
        job: 's-1',
      },
    ]);
    expect(JSON.stringify(written)).not.toContain('secret');
  });

  it('names the user of the key, not the user that the submission claims', () => {
    owner = 'ci';
    audit.asked(CLIENT, submit);
    audit.recordAnswer(
      CLIENT,
      { type: 'accepted', request: 1, value: { job: 's-1' } } as unknown as Message,
      's0',
    );
    expect(written).toMatchObject([{ key: 'ci', user: 'ci' }]);
  });

  it('has the code of a refusal, and one line for any number of repeated requests', () => {
    const refused = { type: 'refused', request: 1, code: 'not-ready', retryMs: 500 } as unknown as Message;
    audit.asked(CLIENT, submit);
    audit.recordAnswer(CLIENT, refused, 's0');
    audit.asked(CLIENT, submit);
    audit.recordAnswer(CLIENT, { ...refused, code: 'bad-job', retryMs: undefined } as Message, 's0');
    expect(written).toMatchObject([{ action: 'submit', outcome: 'refused', code: 'bad-job' }]);
  });

  it('has denied requests, including reads, but no permitted reads', () => {
    audit.forbidden(CLIENT, { type: 'describeShares', request: 2 } as Message, 'central');
    audit.asked(CLIENT, { type: 'describeJob', request: 3, id: 's-1' } as unknown as Message);
    audit.recordAnswer(CLIENT, { type: 'jobDetail', request: 3 } as unknown as Message, 's0');
    expect(written).toMatchObject([{ action: 'describeShares', outcome: 'refused', code: 'not-allowed' }]);
  });

  it.each(MESSAGE_TYPES.filter((type) => rightsFor(type).length > 0))(
    'is not filled by refusals of %s, of which it has a part and their number',
    (type) => {
      const long = 'x'.repeat(100_000);
      const fields = {
        id: long,
        key: long,
        worker: long,
        scheduler: long,
        user: long,
        spec: { name: long, user: long },
      };
      const refuse = (request: number): void => {
        const message = { type, request, ...fields } as unknown as Message;
        audit.asked(CLIENT, message);
        if (request % 2 === 0) audit.forbidden(CLIENT, message, 's0');
        else audit.recordAnswer(CLIENT, { type: 'refused', request, code: 'bad-job' } as Message, 's0');
      };
      for (let request = 1; request <= 40_000; request++) refuse(request);
      expect(JSON.stringify(written).length).toBeLessThan(4_000_000);
      expect(written.length).toBeLessThan(1_100);
      expect(written.at(-1)).toMatchObject({ refusals: expect.any(Number) });
      key = 'other';
      refuse(40_002);
      expect(written.at(-1)).toMatchObject({ key: 'other', outcome: 'refused' });
      key = 'ci';
      now += 60_000;
      refuse(40_004);
      expect(written.at(-1)).not.toHaveProperty('refusals');
    },
  );

  it('has every request that needs the right to submit or to operate', () => {
    const changing = MESSAGE_TYPES.filter((type) =>
      rightsFor(type).some((right) => right === 'submit' || right === 'operate'),
    );
    expect(changing.length).toBeGreaterThan(7);
    for (const type of changing) {
      audit.asked(CLIENT, { type, request: 6 } as unknown as Message);
      audit.recordAnswer(CLIENT, { type: 'anything', request: 6 } as unknown as Message, 'x');
    }
    expect(written.length).toBe(changing.length);
  });

  it.each([
    [
      { type: 'cancelJob', request: 4, id: 's-1' },
      { action: 'cancel', job: 's-1' },
    ],
    [
      { type: 'cancelTasks', request: 4, id: 's-1', tasks: [] },
      { action: 'cancel', job: 's-1' },
    ],
    [
      { type: 'cancelJobs', request: 4, user: 'ann' },
      { action: 'cancel', user: 'ann' },
    ],
    [
      { type: 'appendTasks', request: 4, id: 's-1' },
      { action: 'append', job: 's-1' },
    ],
    [
      { type: 'updateJob', request: 4, id: 's-1', held: true },
      { action: 'update', job: 's-1' },
    ],
    [
      { type: 'retryJob', request: 4, id: 's-1', key: 'r' },
      { action: 'retry', job: 's-1' },
    ],
    [
      { type: 'drainWorker', request: 4, worker: 'w1', on: true },
      { action: 'drain', worker: 'w1', on: true },
    ],
    [
      { type: 'takeOverFrom', request: 4, scheduler: 's1' },
      { action: 'takeover', scheduler: 's1' },
    ],
  ])('names the requested object: %j', (message, line) => {
    audit.asked(CLIENT, message as unknown as Message);
    audit.recordAnswer(CLIENT, { type: 'anything', request: 4 } as unknown as Message, 'x');
    expect(written).toMatchObject([{ ...line, outcome: 'done' }]);
  });
});

describe('an audit file', () => {
  function folder(): string {
    const made = mkdtempSync(join(tmpdir(), 'goshawk-audit-'));
    onTestFinished(() => rmSync(made, { recursive: true, force: true }));
    return made;
  }
  const linesIn = (path: string) =>
    readdirSync(path).flatMap((name) => readFileSync(join(path, name), 'utf8').trimEnd().split('\n'));

  it('loses no line if two processes write and rotate the same file', () => {
    const at = folder();
    const path = join(at, 'audit.jsonl');
    const [one, other] = [1, 2].map(() => new RotatedFile(path, recordingLogger(), 200, 1_000));
    for (let i = 0; i < 100; i++) {
      one!.write({ number: 2 * i });
      other!.write({ number: 2 * i + 1 });
    }
    const numbers = linesIn(at).map((line) => (JSON.parse(line) as { number: number }).number);
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i));
    expect(readdirSync(at).length).toBeGreaterThan(5);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    one!.close();
    other!.close();
  });

  it('keeps a limited number of rotated files', () => {
    const at = folder();
    const file = new RotatedFile(join(at, 'audit.jsonl'), recordingLogger(), 10, 3);
    for (let i = 0; i < 20; i++) file.write({ i });
    expect(readdirSync(at).length).toBeLessThanOrEqual(4);
    file.close();
  });

  it('that cannot be written is refused at startup, in one line', () => {
    expect(() => new RotatedFile('/proc/audit.jsonl', recordingLogger())).toThrow(
      /cannot write the audit log/,
    );
  });
});
