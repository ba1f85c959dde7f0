import {
  type Address,
  type FieldKind,
  type Fields,
  GIVEN_FACTS,
  LIMITS,
  MESSAGE_TYPES,
  MESSAGES,
  type Message,
  NO_RESOURCES,
  type Role,
} from '@goshawk/core';
import type { Draw } from '../drawing/draw.js';

/** Texts for numbers with units: valid ones, those at a bound, and those beyond it. */
const QUANTITIES = [
  '1ms',
  '0s',
  '10000000d',
  '1h30m',
  `${'9'.repeat(60)}s`,
  `${'9'.repeat(309)}d`,
  '1e400',
  '1e15',
  '8191TiB',
  '9999999TiB',
  '0',
  '-1',
  'NaN',
  'Infinity',
  '1constructor',
  ' '.repeat(10_000),
  '',
] as const;
const NUMBERS = [
  0,
  1,
  -1,
  0.5,
  1e15,
  1e300,
  5e-324,
  Number.MAX_VALUE,
  Number.MAX_SAFE_INTEGER,
  2 ** 31,
] as const;
/** Begin times: valid ones, ones without time zone, and invalid ones. */
const TIMES = [
  '2000-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999+14:00',
  '2026-02-30T10:00:00Z',
  '+1ms',
  '22:00',
  '2026-11-25',
  `+${'9'.repeat(60)}d`,
] as const;
const NAMES = [
  '',
  'a',
  'x'.repeat(256),
  'x'.repeat(300),
  '\0',
  '__proto__',
  'constructor',
  'é',
  '\u{1f985}',
] as const;

/** A job that uses every field, most of them with valid values. It never runs long. */
function hostileJob(draw: Draw): unknown {
  const quantity = (): unknown => draw.pick<unknown>(draw.chance(0.5) ? QUANTITIES : NUMBERS);
  const name = (): unknown => draw.pick(NAMES);
  const some = (field: string, value: () => unknown): object =>
    draw.chance(0.2) ? { [field]: value() } : {};
  const fact = (): unknown => draw.pick<unknown>([true, false, 'yes', ...NUMBERS]);
  const demand = (): unknown =>
    Object.fromEntries([[draw.pick(['cpu', 'memory', 'gpu', '__proto__']), quantity()]]);
  const task = { sleep: draw.chance(0.9) ? 1 : quantity() };
  const tasks = (): unknown =>
    draw.chance(0.5) ? [task] : { count: draw.pick([1, 2, 0, 1e9, 0.5]), run: task };
  const stages = (): unknown => [
    { name: 'a', tasks: tasks() },
    {
      name: 'b',
      after: draw.pick([['a'], ['b'], ['c'], 'a']),
      tasks: tasks(),
      ...some('demand', demand),
      ...some('inputs', () => draw.pick([['a'], ['b'], [], 'a'])),
    },
  ];
  return {
    ...(draw.chance(0.7) ? { tasks: tasks() } : { stages: stages() }),
    ...some('name', name),
    ...some('user', name),
    ...some('logicalName', name),
    ...some('estimate', quantity),
    ...some('timeout', quantity),
    ...some('deadline', quantity),
    ...some('gang', () => draw.pick<unknown>([true, false, 1])),
    ...some('lend', () => draw.pick<unknown>([true, false, 'no'])),
    ...Object.assign({}, ...Object.keys(GIVEN_FACTS).map((field) => some(field, fact))),
    ...some('weight', quantity),
    ...some('notify', name),
    ...some('open', quantity),
    ...some('retries', () => draw.pick(NUMBERS)),
    ...some('maxRunning', () => draw.pick(NUMBERS)),
    ...some('hold', () => draw.pick([true, false, 1, 'true'])),
    ...some('begin', () => (draw.chance(0.5) ? quantity() : draw.pick(TIMES))),
    ...some('demand', demand),
  };
}

/** Messages that the codec accepts, from any sender of an allowed role, about existing and missing things. */
export class HostileMessages {
  readonly #draw: Draw;
  readonly #addresses: () => readonly Address[];

  constructor(draw: Draw, addresses: () => readonly Address[]) {
    this.#draw = draw;
    this.#addresses = addresses;
  }

  /** @returns undefined if one role has no messages for the other */
  message(from: Role, to: Role): Message | undefined {
    const types = MESSAGE_TYPES.filter((type) => {
      const { from: senders, to: receivers } = MESSAGES[type] as {
        from: readonly Role[];
        to: readonly Role[];
      };
      // Only central sends settings; they are validated with the message.
      return senders.includes(from) && receivers.includes(to) && type !== 'welcome';
    });
    if (types.length === 0) return undefined;
    // A job has more fields than any request.
    const type = types.includes('submit') && this.#draw.chance(0.5) ? 'submit' : this.#draw.pick(types);
    const message = { type, ...this.#record(MESSAGES[type].fields) } as Message;
    if (message.type === 'appendTasks') return { ...message, ...this.#appended() };
    return message.type === 'submit' ? { ...message, spec: hostileJob(this.#draw) } : message;
  }

  /** Tasks for a job that may be open, most of them valid, and most at the right index. */
  #appended(): object {
    const draw = this.#draw;
    if (draw.chance(0.2)) return {};
    const common = draw.pick<unknown>([undefined, { sleep: 1 }, { retries: 1 }]);
    const each = Array.from({ length: draw.int(0, 3) }, () => draw.pick([{}, { sleep: 1 }, { sleep: -1 }]));
    return { common, each, first: draw.int(0, 3), taken: draw.int(0, 5) };
  }

  #record(fields: Fields): Record<string, unknown> {
    return Object.fromEntries(
      // Payloads stay valid: executors check them, and this cluster has none.
      Object.entries(fields).map(([name, field]) => [
        name,
        name === 'payload' ? { sleep: 1 } : this.#value(field),
      ]),
    );
  }

  #value(field: FieldKind): unknown {
    const draw = this.#draw;
    switch (field.kind) {
      case 'count': {
        const { min = 0, max = Number.MAX_SAFE_INTEGER } = field;
        if (draw.chance(0.9)) return Math.min(min + draw.int(0, 5), max);
        return draw.pick([max, max - 1, Math.min(max, 2 ** 31)]);
      }
      case 'integer':
        return draw.pick([0, 1, -1, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]);
      case 'number':
      case 'signed':
        // Sums of larger numbers would lose small ones to rounding, which central's invariants would report.
        return draw.pick([0, 1, 100, 5e-324, 1e6]);
      case 'flag':
        return draw.chance(0.5);
      case 'text':
        return draw
          .pick(['', 'w1', 's1', 's1-1', 's1-2', 'x'.repeat(field.lengthMax)])
          .slice(0, field.lengthMax);
      case 'bytes':
        return new Uint8Array(draw.pick([0, 1, 7, Math.min(1_000, field.lengthMax)])).fill(draw.int(0, 255));
      case 'address':
        return draw.pick(this.#addresses());
      case 'resources':
        return draw.chance(0.7)
          ? NO_RESOURCES
          : {
              [draw.pick(['cpu', 'memory', 'constructor'])]: draw.pick([0, 1, 5e-324, 0.1, LIMITS.amountMax]),
            };
      case 'choice':
        return draw.pick(field.of);
      case 'optional':
        return draw.chance(0.5) ? undefined : this.#value(field.of);
      case 'list':
        return Array.from({ length: draw.int(0, 3) }, () => this.#value(field.of));
      case 'record':
        return this.#record(field.fields);
      case 'open':
      case 'parsed':
        return draw.pick<unknown>([
          undefined,
          null,
          0,
          'x',
          [],
          {},
          { sleep: 1 },
          [[]],
          -1,
          2 ** 53,
          { id: 's1-1' },
        ]);
    }
  }
}
