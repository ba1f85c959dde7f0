import {
  type ClusterSettings,
  DEFAULT_POLICY,
  type JobInput,
  LIVE_TIMINGS,
  OUTCOMES,
  type OutcomeKind,
  type PolicySettings,
  type Priority,
  parseJobSpec,
  type Resources,
} from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import { decidedWith, deciderOf, presetNamed } from '@goshawk/policies';
import { outcomeOf } from '../stepped/outcome.js';
import { nextIncarnation, type Party } from '../stepped/stepped-cluster.js';
import type { Command } from './script.js';
import type { Stage } from './stage.js';

addPapers();

/** Time until all parties have joined, in ms. */
const JOINING_MS = 500;

/** The settings of a `cluster` command: Hawk's, with live timings, no jitter, and the given options. */
export function settingsOf({ options }: Command): ClusterSettings {
  const policy = options.get('policy') ?? 'hawk';
  const choices: Partial<PolicySettings> = {
    policy,
    preset: presetOf(policy, options),
    cutoffMs: 1_000,
    shortPartition: numberOf(options, 'short', 0),
    probeRatio: numberOf(options, 'ratio', 2),
    stealLimit: options.has('stealLimit') ? numberOf(options, 'stealLimit', 1) : null,
    stealRetry: options.get('stealRetry') === 'backoff' ? 'backoff' : 'never',
    cancel: options.get('cancel') === 'lazy' ? 'lazy' : 'proactive',
    reserve: numberOf(options, 'reserve', 0),
    lend: options.get('lend') === 'none' ? 'none' : 'all',
    seekCap: numberOf(options, 'seek', 2),
    bitmapMs: numberOf(options, 'bitmap', 0),
    estimator: options.get('estimator') ?? 'given',
    pilotRatio: numberOf(options, 'pilots', 0.03),
    seriesMs: numberOf(options, 'series', 0),
  };
  return { policy: { ...DEFAULT_POLICY, ...choices }, timings: LIVE_TIMINGS };
}

/** @param options `base`: size of the first queue of `gs`, in ms */
function presetOf(policy: string, options: Command['options']): PolicySettings['preset'] {
  const preset = presetNamed(policy);
  if (!('baseMs' in deciderOf(preset).module.options)) return { ...preset };
  return decidedWith(preset, { baseMs: numberOf(options, 'base', 1e6) });
}

type Run = (stage: Stage, command: Command) => void;

/** The commands of a transcript, by the first word of the line. */
export const COMMANDS: Readonly<Record<string, Run>> = {
  /** cluster workers=2 schedulers=1 [policy= lend= slots= memory= short= ratio= cancel= seek= bitmap= series= estimator= pilots= base= …]: all have joined */
  cluster(stage, { options }) {
    stage.cluster.addCentral();
    for (let i = 1; i <= numberOf(options, 'schedulers', 1); i++) stage.cluster.addScheduler(`s${i}`);
    for (let i = 1; i <= numberOf(options, 'workers', 1); i++) {
      stage.cluster.addWorker(`w${i}`, numberOf(options, 'slots', 1), capacityOf(options));
    }
    stage.advance(JOINING_MS, true);
    stage.forgetLines();
  },

  /** settings …: as `cluster`, but without any party */
  settings() {},

  central(stage) {
    stage.cluster.addCentral();
  },

  scheduler(stage, { words }) {
    stage.cluster.addScheduler(words[0]!);
  },

  /** worker w3 [slots= memory=] */
  worker(stage, { words, options }) {
    stage.cluster.addWorker(words[0]!, numberOf(options, 'slots', 1), capacityOf(options));
  },

  /** restart w1: as the next incarnation, w1/2 */
  restart(stage, { words }) {
    const party = stage.named(words[0]!);
    stage.cluster.kill(party);
    const name = nextIncarnation(party.name);
    if (party.role === 'central') stage.cluster.addCentral(name);
    else if (party.role === 'scheduler') stage.cluster.addScheduler(name);
    else stage.cluster.addWorker(name);
  },

  /** kill w1: as by SIGKILL */
  kill(stage, { words }) {
    stage.cluster.kill(stage.named(words[0]!));
  },

  /**
   * disconnect s1 central: the connection of s1 to central breaks, and s1 is notified; disconnect central: all connections to
   * central break
   */
  disconnect(stage, { words }) {
    const from = stage.named(words.at(-1)!);
    const all = [...stage.cluster.alive('scheduler'), ...stage.cluster.alive('worker')];
    const parties = words.length > 1 ? [stage.named(words[0]!)] : all;
    for (const party of parties) stage.cluster.disconnect(party, from);
  },

  /** submit s1 A tasks=2 [sleep= estimate= retries= timeout= max= memory= begin= hold= stages=1,2,1] */
  submit(stage, { words, options }) {
    const [ownerName, label = '?'] = words;
    const owner = stage.named(ownerName!);
    const scheduler = stage.cluster.schedulerOf(owner);
    stage.expectJob(label, owner);
    stage.cluster.step(owner, () => {
      stage.addJob(label, owner, scheduler.submit(parseJobSpec(jobOf(options)), label, stage.cluster.now));
    });
  },

  /** cancel s1 A */
  cancel(stage, { words }) {
    const owner = stage.named(words[0]!);
    const job = stage.job(words[1]!);
    stage.cluster.step(owner, () => stage.cluster.schedulerOf(owner).cancel(job, stage.cluster.now));
  },

  /**
   * `update s1 A held | released [priority=high request=]`: the message is in flight from `user`; `request`: repeats an
   * earlier one
   */
  update(stage, { words, options }) {
    const [owner, label, held] = words;
    const user =
      [...stage.cluster.parties.values()].find(({ name }) => name === 'user') ??
      stage.cluster.addClient('user');
    stage.cluster.sendAs(user, stage.named(owner!), {
      type: 'updateJob',
      request: options.has('request') ? numberOf(options, 'request', 0) : stage.nextRequest(),
      id: stage.job(label!).id,
      held: held === undefined ? undefined : held === 'held',
      priority: options.get('priority') as Priority | undefined,
    });
  },

  /** end w1 failed [slot=0]: the running task ends with this outcome */
  end(stage, { words, options }) {
    const [name, kind] = words;
    if (!OUTCOMES.includes(kind as OutcomeKind)) throw new Error(`no task ends ${kind}`);
    const outcome = outcomeOf(kind as OutcomeKind);
    if (!stage.cluster.endTask(stage.named(name!), numberOf(options, 'slot', 0), outcome)) {
      throw new Error(`no task runs in that slot of ${name}`);
    }
    stage.advance(0, false);
  },

  /** drain w1, undrain w1: the operator asks central */
  drain: (stage, { words }) => operate(stage, words[0]!, true),
  undrain: (stage, { words }) => operate(stage, words[0]!, false),

  /** busy 0.9: central's process is busy for this fraction of the time */
  busy: (stage, { words }) => stage.cluster.loadCentral(Number(words[0])),

  /** terminate w1: SIGTERM */
  terminate(stage, { words }) {
    const worker = stage.named(words[0]!);
    stage.cluster.step(worker, () => stage.cluster.workerOf(worker).drain(stage.cluster.now));
  },

  /** leave w1: deregisters and exits */
  leave(stage, { words }) {
    const worker = stage.named(words[0]!);
    stage.cluster.step(worker, () => stage.cluster.workerOf(worker).leave());
    stage.cluster.kill(worker);
  },

  /** deliver s1 w1 [probe]: delivers the next message from s1 to w1, which must be of that type */
  deliver(stage, { words }) {
    const [from, to] = pair(stage, words);
    expectNext(stage, from, to, words[2]);
    stage.cluster.deliver(from.address, to.address);
    stage.passHeartbeats();
  },

  /** lose s1 w1 [probe]: the network loses it */
  lose(stage, { words }) {
    const [from, to] = pair(stage, words);
    expectNext(stage, from, to, words[2]);
    stage.cluster.network.take(from.address, to.address);
  },

  /** double s1 w1 [probe]: the network delivers it, and will deliver it again */
  double(stage, { words }) {
    const [from, to] = pair(stage, words);
    expectNext(stage, from, to, words[2]);
    const envelope = stage.cluster.deliver(from.address, to.address)!;
    stage.cluster.network.send(from.address, to.address, envelope.message, stage.cluster.now);
  },

  /** hold s1 w1: messages from s1 to w1 stay in flight */
  hold: (stage, { words }) => stage.hold(...pair(stage, words)),
  release: (stage, { words }) => stage.release(...pair(stage, words)),

  /** settle: delivers all messages on links that are not on hold, and their consequences; no time passes */
  settle: (stage) => stage.settle(),

  /** advance 100: advances the clock, fires timers and ends tasks; no message is delivered */
  advance: (stage, { words }) => stage.advance(Number(words[0]), false),

  /** run 100: advances the clock; messages take no time */
  run: (stage, { words }) => stage.advance(Number(words[0]), true),

  /** show A, show central */
  show(stage, { words }) {
    const what = words[0]!;
    if (what !== 'central') return stage.say(stage.describeJob(what));
    const { placedTasks, pendingTasks } = stage.cluster.central;
    stage.say(`central: ${placedTasks} placed, ${pendingTasks} waiting for a worker`);
  },
};

function operate(stage: Stage, worker: string, on: boolean): void {
  const operator = [...stage.cluster.parties.values()].find(({ role }) => role === 'client');
  stage.cluster.sendAs(operator ?? stage.cluster.addClient('operator'), stage.cluster.centralParty, {
    type: 'drainWorker',
    request: 1,
    worker,
    on,
    deadlineMs: undefined,
  });
}

function pair(stage: Stage, words: readonly string[]): [Party, Party] {
  return [stage.named(words[0]!), stage.named(words[1]!)];
}

function expectNext(stage: Stage, from: Party, to: Party, type: string | undefined): void {
  const next = stage.cluster.network
    .heads()
    .find((head) => head.from === from.address && head.to === to.address);
  if (next === undefined) throw new Error(`nothing is on its way from ${from.name} to ${to.name}`);
  if (type !== undefined && next.message.type !== type) {
    throw new Error(`next from ${from.name} to ${to.name} is ${next.message.type}, not ${type}`);
  }
}

function numberOf(options: Command['options'], name: string, otherwise: number): number {
  const text = options.get(name);
  return text === undefined ? otherwise : Number(text);
}

function resourcesOf(options: Command['options']): Resources {
  return options.has('memory') ? { memory: numberOf(options, 'memory', 0) } : {};
}

/** Requests for memory alone also take a CPU, so workers with memory declare their CPUs. */
function capacityOf(options: Command['options']): Resources {
  const of = resourcesOf(options);
  return of.memory === undefined ? of : { cpu: numberOf(options, 'slots', 1), ...of };
}

/** `stages=2,1` are two stages, the second after the first; `stages=2|1` do not wait for each other. */
function jobOf(options: Command['options']): JobInput {
  const sleep = numberOf(options, 'sleep', 100);
  const tasks = (count: number) => ({ count, run: { sleep } });
  const inOrder = options.get('stages')?.includes(',');
  const after = (stage: number) => (inOrder && stage > 0 ? [`${stage - 1}`] : []);
  const stages = options
    .get('stages')
    ?.split(/[,|]/)
    .map((count, i) => ({ name: `${i}`, after: after(i), tasks: tasks(Number(count)) }));
  const timeout = options.get('timeout');
  const max = options.get('max');
  return {
    estimate: numberOf(options, 'estimate', sleep),
    retries: numberOf(options, 'retries', 0),
    demand: { ...resourcesOf(options) },
    ...(timeout === undefined ? {} : { timeout: Number(timeout) }),
    ...(max === undefined ? {} : { maxRunning: Number(max) }),
    ...(options.has('begin') ? { begin: Number(options.get('begin')) } : {}),
    ...(options.has('hold') ? { hold: true } : {}),
    ...(stages === undefined ? { tasks: tasks(numberOf(options, 'tasks', 1)) } : { stages }),
  };
}
