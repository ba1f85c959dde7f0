import { type JobRecord, parseJobSpec } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Inheritance } from '../contract.js';
import { DurableBench, entriesOf } from '../durable.fixture.js';
import type { Job } from '../job/job.js';
import { CENTRAL, CLIENT, joined, W1, welcome } from '../lone-scheduler.fixture.js';
import { notifyRefusal } from './notifications.js';

const job = (notify?: string) => parseJobSpec({ tasks: [{ sleep: 1 }], ...(notify && { notify }) });

test.each(['https://Hooks.Example.org/x?y=1', 'http://hooks.example.org:8080', 'http://[::1]:80/'])(
  '%s is allowed by a glob of its host',
  (url) => {
    expect(notifyRefusal(job(url), ['*.example.org', '[::1]'])).toBeUndefined();
  },
);

test('a host that no glob matches is refused with the list of allowed ones', () => {
  expect(notifyRefusal(job('http://169.254.169.254/latest'), ['*.example.org'])).toEqual({
    code: 'notify-host',
    message: 'the scheduler sends no notifications to 169.254.169.254',
    hint: 'its operator allows hosts, mail: and command: with --notify-hosts; allowed are *.example.org',
  });
  expect(notifyRefusal(job('http://a/'), undefined)).toMatchObject({ code: 'notify-host' });
  expect(notifyRefusal(job(), undefined)).toBeUndefined();
});

test.each([
  ['mail:ann@example.org', ['mail:*@example.org'], true],
  ['mail:ann@example.org', ['mail:*@corp.example', '*'], false],
  ['command:notify-send done', ['command:*'], true],
  ['command:rm -r /', ['command:notify-send *', '*'], false],
  ['https://mail:80/', ['mail:*', 'command:*'], false],
])('%s with --notify-hosts %j: %j', (target, allowed, isAllowed) => {
  expect(notifyRefusal(job(target), allowed)?.code).toBe(isAllowed ? undefined : 'notify-host');
});

test('a glob of a command permits no further commands and no other use of the shell, except command:*', () => {
  const special = fc.constantFrom(...';&|$`"\'\\<>()[]{}*?!~#^', '\t');
  const plain = fc.stringMatching(/^[a-z0-9 ./=:,@%+_-]*$/);
  fc.assert(
    fc.property(plain, special, plain, (before, mark, after) => {
      const target = `command:/opt/report ${before}${mark}${after}`;
      const codeFor = (allowed: string) => notifyRefusal(job(target), [allowed])?.code;
      expect(codeFor('command:/opt/report *')).toBe('notify-host');
      expect(codeFor('command:/opt/report*')).toBe('notify-host');
      expect(codeFor('command:*')).toBeUndefined();
      if (!'*?'.includes(mark)) expect(codeFor(`command:/opt/report *${mark}*`)).toBeUndefined();
    }),
  );
});

test.each([
  ['command:/opt/report --job 1 a@b.c', true],
  ['command:/opt/report größe=1', true],
  ['command:/opt/report x && mail', false],
])('%s with a glob of its arguments: %j', (target, isAllowed) => {
  const refusal = notifyRefusal(job(target), ['command:/opt/report *']);
  expect(refusal?.code).toBe(isAllowed ? undefined : 'notify-host');
});

test.each([
  'mail:',
  'mail:ann',
  'mail:-f@example.org',
  'mail:a@b, c@d',
  'mail:a@b\nBcc: c@d',
  'command:',
  'command: ',
  'command:a\nb',
  'ftp://host/',
  'https://user:pass@host/',
  'host/path',
  'http://',
  'http://a b/',
  'http://host\\@evil/',
])('%s is no address to notify', (url) => {
  expect(() => job(url)).toThrow(/notify: not an address/);
});

/** A scheduler that crashes and restarts; only durable records survive. */
class Crashing {
  #durable: readonly JobRecord[] = [];
  #bench!: DurableBench;
  #taken!: readonly JobRecord[];
  /** Ends that the driver has to report, in this incarnation. */
  reported!: { readonly job: string; readonly number: number; readonly ends: number }[];
  #requests = 0;

  constructor() {
    this.crash();
  }

  /** @param joins whether central admits the new incarnation */
  crash(joins = true): void {
    this.reported = [];
    const records = this.#durable;
    const inheritance: Inheritance | undefined =
      records.length === 0
        ? undefined
        : {
            entries: entriesOf(records),
            now: Number.POSITIVE_INFINITY,
            lastJob: Math.max(...records.map(({ job }) => job)),
            previousIncarnations: [],
          };
    const notify = ({ id: job, number, ends: { count: ends } }: Job): void => {
      expect(this.endsOf(number), `${job} is reported before its end is durable`).toBe(ends);
      expect(this.reported).not.toContainEqual({ job, number, ends });
      this.reported.push({ job, number, ends });
    };
    this.#bench = new DurableBench(inheritance, 0, joins, { notifyHosts: ['command:*'] }, { notify });
    this.#taken = [];
  }

  admit(): void {
    this.#bench.receive(CENTRAL, welcome());
    this.#bench.receive(CENTRAL, joined(1, [W1], 4));
  }

  /** Durable ends of a job that has ended; undefined: it has not. */
  endsOf(number: number): number | undefined {
    const its = this.#durable.filter(({ job, kind }) => job === number && kind !== 'notified');
    return its.at(-1)?.kind === 'ended' ? its.filter(({ kind }) => kind === 'ended').length : undefined;
  }

  commit(): void {
    this.#durable = [...this.#durable, ...this.#bench.records.slice(this.#taken.length)];
    this.#taken = [...this.#bench.records];
    this.#bench.commit();
  }

  submit(notify: string | undefined): void {
    this.#bench.submit({ tasks: [{ sleep: 1 }], notify }, `k${++this.#requests}`, this.#requests);
  }

  cancel(number: number): void {
    this.#bench.receive(CLIENT, { type: 'cancelJob', request: ++this.#requests, id: `s-${number}` });
  }

  retry(number: number): void {
    const choice = { failedOnly: undefined, tasks: undefined, asNew: undefined };
    const key = `r${++this.#requests}`;
    this.#bench.receive(CLIENT, {
      type: 'retryJob',
      request: this.#requests,
      key,
      id: `s-${number}`,
      ...choice,
    });
  }

  settle(at: number): void {
    const one = this.reported[at % Math.max(1, this.reported.length)];
    if (one !== undefined) this.#bench.scheduler.notified(one.number, one.ends, this.#bench.now);
  }

  numbers(): number[] {
    return [...new Set(this.#durable.map(({ job }) => job))].filter((job) => job !== 0);
  }

  /** Whether the job's target is known to have been notified of this end. */
  isSettled(number: number, ends: number): boolean {
    return this.#durable.some(
      (record) => record.kind === 'notified' && record.job === number && record.ends === ends,
    );
  }

  hasTarget(number: number): boolean {
    return this.#durable.some(
      (record) => record.kind === 'accepted' && record.job === number && record.spec.notify !== undefined,
    );
  }
}

test('each durable end of a job is reported until it is settled, whatever crashes in between', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.constant(['commit'] as const) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('submit' as const), fc.boolean()) },
    {
      weight: 9,
      arbitrary: fc.tuple(fc.constantFrom('cancel' as const, 'retry' as const, 'settle' as const), fc.nat(6)),
    },
    { weight: 1, arbitrary: fc.constant(['crash'] as const) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const it = new Crashing();
      for (const [what, which] of steps) {
        const numbers = it.numbers();
        const number = numbers[Number(which) % numbers.length] ?? 1;
        if (what === 'commit') it.commit();
        else if (what === 'submit') it.submit(which ? 'command:true' : undefined);
        else if (what === 'cancel') it.cancel(number);
        else if (what === 'retry') it.retry(number);
        else if (what === 'settle') it.settle(Number(which));
        else it.crash();
      }
      it.crash();
      const due = it.numbers().flatMap((number) => {
        const ends = it.endsOf(number);
        const isDue = ends !== undefined && it.hasTarget(number) && !it.isSettled(number, ends);
        return isDue ? [{ job: `s-${number}`, number, ends }] : [];
      });
      expect(it.reported.toSorted((a, b) => a.number - b.number)).toEqual(due);
    }),
  );
});

test('an end is not reported again because the report of an earlier one was confirmed later', () => {
  const it = new Crashing();
  it.submit('command:true');
  it.commit();
  for (const again of [false, true]) {
    if (again) it.retry(1);
    it.cancel(1);
    it.commit();
  }
  it.settle(1);
  it.settle(0);
  it.commit();
  it.crash();
  expect(it.reported).toEqual([]);
});

test('a scheduler that central has not admitted reports nothing: its journal may be a copy', () => {
  const it = new Crashing();
  it.submit('command:true');
  it.commit();
  it.cancel(1);
  it.commit();
  expect(it.reported).toEqual([{ job: 's-1', number: 1, ends: 1 }]);
  it.crash(false);
  expect(it.reported).toEqual([]);
  it.admit();
  expect(it.reported).toEqual([{ job: 's-1', number: 1, ends: 1 }]);
});
