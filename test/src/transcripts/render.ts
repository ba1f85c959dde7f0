import {
  type Address,
  type Borrowing,
  formatResources,
  type Message,
  type MessageOf,
  type MessageType,
  type Resources,
} from '@goshawk/core';

/** The cluster's names for the numbers in messages. */
export interface Names {
  party(address: Address): string;
  /** Returns the name of a job from its owner and number. */
  job(owner: Address, job: number): string;
}

/** Renders a message as a line, with sender and receiver. */
interface Context {
  readonly from: Address;
  readonly to: Address;
  readonly names: Names;
}

type Renderers = { [T in MessageType]?: (message: MessageOf<T>, context: Context) => string };

const RENDERERS: Renderers = {
  register: ({ slots, capacity, draining, runs }, { names }) => {
    const parts = [plural(slots, 'slot')];
    if (!isEmpty(capacity)) parts.push(formatResources(capacity));
    if (draining) parts.push('draining');
    for (const run of runs) {
      const what = taskName(names, run.owner, run.job, run.task, run.attempt);
      parts.push(`holds ${what}${run.queued ? ', waiting' : ` for ${rounded(run.elapsedMs)} ms`}`);
    }
    return `register: ${parts.join(', ')}`;
  },
  enlist: ({ name }) => `enlist as ${name}`,
  welcome: () => 'welcome',
  heartbeat: ({ busy, queued }) => `heartbeat: ${busy} busy, ${queued} queued`,
  heartbeatAck: ({ version, matching }) =>
    `heartbeat heard, v${version}${matching ? '' : ', find each other'}`,
  notRegistered: () => 'I do not know you',
  leave: () => 'leave',
  resync: () => 'resync',
  peers: ({ version, since, joined, left, ownersLost, owners }, { names }) => {
    const parts =
      since === 0
        ? [`general: ${list(joined.map(names.party))}`]
        : [
            ...joined.map((address) => `+${names.party(address)}`),
            ...left.map((address) => `−${names.party(address)}`),
          ];
    for (const owner of ownersLost) parts.push(`owner ${names.party(owner)} is lost`);
    if (owners.length > 0) parts.push(`owners: ${list(owners.map(names.party))}`);
    return `peers v${version}${since === 0 ? '' : ` after v${since}`}: ${list(parts, ', ')}`;
  },
  members: ({ version, since, changed, left }, { names }) => {
    const parts = changed.map(
      ({ address, partition, draining }) =>
        `${since === 0 ? '' : '+'}${names.party(address)} ${partition}${draining ? ' draining' : ''}`,
    );
    for (const address of left) parts.push(`−${names.party(address)}`);
    return `members v${version}${since === 0 ? '' : ` after v${since}`}: ${list(parts, ', ')}`;
  },
  drain: ({ on }) => (on ? 'drain' : 'drain no more'),
  drained: () => 'drained',
  place: ({ job, tasks, estimateMs, demand, long }, { from, names }) => {
    const which = tasks.map(({ task, attempt }) => taskName(names, from, job, task, attempt)).join(' ');
    return `place ${which} (${long ? 'long' : 'short'}, ${estimateMs} ms${needs(demand)})`;
  },
  assign: ({ owner, job, task, attempt, demand }, { names }) =>
    `assign ${taskName(names, owner, job, task, attempt)}${needs(demand)}`,
  placed: ({ job, at }, { to, names }) => {
    const which = at.map(
      ({ task, attempt, worker }) => `${taskName(names, to, job, task, attempt)} at ${names.party(worker)}`,
    );
    return `placed ${which.join(', ')}`;
  },
  withdraw: ({ job }, { from, names }) => `withdraw ${names.job(from, job)}`,
  placementStarted: ({ owner, job, task, attempt }, { names }) =>
    `placement started: ${taskName(names, owner, job, task, attempt)}`,
  placementEnded: ({ owner, job, task, attempt }, { names }) =>
    `placement over: ${taskName(names, owner, job, task, attempt)}`,
  probe: ({ job, stage, long, lane, demand }, { from, names }) =>
    `probe ${batchName(names, from, job, stage)}${long ? ' (long)' : ''}` +
    `${lane === 'normal' ? '' : ` in the ${lane} lane`}${needs(demand)}`,
  cancelProbes: ({ job, stage }, { from, names }) => `cancel probes of ${batchName(names, from, job, stage)}`,
  ask: ({ ask, again, job, stage, placed }, { to, names }) =>
    `ask #${ask}${again ? ' again' : ''}: ` +
    (placed === undefined
      ? batchName(names, to, job, stage)
      : `${taskName(names, to, job, placed.task, placed.attempt)}, placed here`),
  none: ({ ask }) => `none #${ask}`,
  ended: ({ report, job, task, attempt, outcome, runMs, ask }, { to, names }) =>
    `ended #${report}: ${taskName(names, to, job, task, attempt)} ${outcome.kind} after ${rounded(runMs)} ms` +
    (ask > 0 ? `, and ask #${ask}` : ''),
  confirm: ({ report }) => `confirm #${report}`,
  output: ({ job, task, attempt, offset, chunk }, { to, names }) =>
    `output of ${taskName(names, to, job, task, attempt)}: ${chunk.bytes.length} bytes from ${offset}`,
  outputReceived: ({ job, task, attempt, bytes, gap }, { from, names }) =>
    `received output of ${taskName(names, from, job, task, attempt)} up to ${bytes}${gap ? ', refused the rest' : ''}`,
  cancelTask: ({ job, task, attempt }, { from, names }) =>
    `cancel ${taskName(names, from, job, task, attempt)}`,
  nowLong: ({ job, task, attempt }, { from, names }) =>
    `now long: ${taskName(names, from, job, task, attempt)}`,
  declined: ({ job, stage, probes, placed }, { to, names }) =>
    placed === undefined
      ? `declined: ${plural(probes, 'probe')} of ${batchName(names, to, job, stage)}`
      : `declined: ${taskName(names, to, job, placed.task, placed.attempt)}`,
  steal: ({ round }) => `steal, round ${round}`,
  stolen: ({ round, probes }, { names }) =>
    `stolen, round ${round}: ${list(probes.map(({ owner, job, stage }) => batchName(names, owner, job, stage)))}`,
  moved: ({ job, stage, to: thief, probes }, { to, names }) =>
    `moved ${plural(probes, 'probe')} of ${batchName(names, to, job, stage)} to ${names.party(thief)}`,
  need: ({ job, stage, tasks, estimateMs, demand, part, about }, { from, names }) =>
    `need ${plural(tasks, 'worker')} for ${batchName(names, from, job, stage)} ` +
    `(${about === undefined ? '' : about.long ? 'long, ' : 'short, '}${estimateMs} ms${part === 'judged' ? '' : `, ${part}`}${needs(demand)})` +
    (about?.stages === undefined ? '' : `, whole job: ${JSON.stringify(about)}`),
  pull: ({ heard, free, spare, long, paused = [] }) =>
    `pull: ${free} free${isEmpty(spare) ? '' : ` with ${formatResources(spare)}`}, ${long} long` +
    (paused.length === 0 ? '' : `, paused ${paused.map((match) => `#${match}`).join(' ')}`) +
    (heard.length === 0 ? '' : `, heard of ${heard.map((match) => `#${match}`).join(' ')}`),
  matched: ({ job, stage, workers }, { to, names }) =>
    `matched ${batchName(names, to, job, stage)} with ` +
    workers
      .map(({ worker, match, borrows }) => `${names.party(worker)} (#${match}${lentFor(borrows)})`)
      .join(', '),
  unused: ({ worker, match }, { names }) => `no use for ${names.party(worker)} (#${match})`,
  checkMatch: ({ job, worker, match }, { to, names }) =>
    `${names.party(worker)} has not heard of #${match}, for ${names.job(to, job)}`,
  lent: ({ job, task, attempt, to: borrower, pausedMs, from: lenders }, { to, names }) =>
    `${taskName(names, to, job, task, attempt)} ` +
    (lenders !== undefined
      ? `borrows from ${lenders.map((lender) => `task ${lender.task} of ${lender.job}`).join(', ') || 'none'}`
      : borrower === undefined
        ? `continues after ${rounded(pausedMs)} ms`
        : `pauses for task ${borrower.task} of ${borrower.job}`),
  run: ({ match, job, task, attempt, ask, borrows }, { from, names }) =>
    `run (${ask > 0 ? `ask #${ask}` : `#${match}`}${lentFor(borrows)}) ${taskName(names, from, job, task, attempt)}`,
  seek: ({ ask, again, spare }) =>
    `seek #${ask}${again ? ' again' : ''}${isEmpty(spare) ? '' : ` with ${formatResources(spare)}`}`,
  updateJob: ({ held, priority }) =>
    `update: ${[held === undefined ? '' : held ? 'hold' : 'release', priority ?? ''].filter((part) => part !== '').join(', ')}`,
  jobSummary: ({ value: { state, held, beginAt } }) =>
    `job is ${state}${held ? ', held' : beginAt === undefined ? '' : ', begins later'}`,
  occupied: ({ bits }) => `occupied: ${[...bits].map((byte) => byte.toString(2).padStart(8, '0')).join(' ')}`,
};

function lentFor(borrows: Borrowing | undefined): string {
  if (borrows === undefined) return '';
  const from = borrows.lenders.map((lender) => `#${lender}`).join(' ');
  return `, while ${from} pauses for at most ${borrows.atMostMs} ms`;
}

/** `w1 → s1  ask #1: A`, for any message. */
export function renderMessage(from: Address, to: Address, message: Message, names: Names): string {
  const render = RENDERERS[message.type] as ((message: Message, context: Context) => string) | undefined;
  const text = render?.(message, { from, to, names }) ?? renderPlainly(message);
  return `${names.party(from)} → ${names.party(to)}  ${text}`;
}

function taskName(names: Names, owner: Address, job: number, task: number, attempt: number): string {
  return `${names.job(owner, job)}.${task}${attempt === 1 ? '' : ` (attempt ${attempt})`}`;
}

function batchName(names: Names, owner: Address, job: number, stage: number): string {
  return `${names.job(owner, job)}${stage === 0 ? '' : ` stage ${stage}`}`;
}

/** Messages of clients, with their fields unchanged. */
function renderPlainly({ type, ...fields }: Message): string {
  const parts = Object.entries(fields)
    .filter(([name, value]) => name !== 'request' && value !== undefined && value !== '')
    .map(([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`);
  return [type, ...parts].join(', ');
}

function rounded(ms: number): number {
  return Number(ms.toFixed(1));
}

function list(items: readonly string[], separator = ' '): string {
  return items.length === 0 ? 'nothing' : items.join(separator);
}

function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function needs(demand: Resources): string {
  return isEmpty(demand) ? '' : `, needs ${formatResources(demand)}`;
}

function isEmpty(resources: Resources): boolean {
  return Object.keys(resources).length === 0;
}
