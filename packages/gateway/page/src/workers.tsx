import { ago, compareNames, counted, formatCount } from '@goshawk/core';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { type Action, Actions } from './actions.js';
import { post } from './api.js';
import { Grid, KINDS, kindOf } from './grid.js';
import { addressOf, taskLink } from './router.js';
import type { Worker, WorkerDetail, Workers } from './shapes.js';
import { type Store, useStore } from './store.js';
import {
  Ago,
  cssColour,
  Definitions,
  Disclosure,
  ErrorText,
  Key,
  StateBadge,
  Table,
  useWidth,
  Waiting,
} from './ui.js';
import { useAnswer } from './use-answer.js';
import { ABSENT, amount, amountOf, clock, duration, elapsed } from './words.js';

/** Maximum number of rows of the table behind the grid. */
const ROWS = 500;
/** Up to this number of workers, the table is open at first. */
const FEW = 40;

export function WorkersView({ chosen }: { readonly chosen: string }) {
  const store = useStore();
  const workers = store.workers.value;
  const sorted = useMemo(() => [...workers.values()].sort((a, b) => compareNames(a.name, b.name)), [workers]);
  const isFew = sorted.length > 0 && sorted.length <= FEW;
  if (store.updates.value === 0) return <Waiting />;
  return (
    <div class="beside">
      <section class="card">
        <h2>CPUs in use by worker</h2>
        <GridLegend workers={sorted} />
        <WorkerGrid workers={sorted} chosen={chosen} />
        <Disclosure name="table" isOpen={isFew} build={() => <WorkerTable workers={sorted} />} />
      </section>
      {chosen === '' ? null : <WorkerPanel key={chosen} name={chosen} />}
    </div>
  );
}

/** Returns the address of the panel of a worker, or of none, which keeps what else is shown. */
function workerAddress({ address }: Store, name = ''): string {
  return addressOf('workers', name, Object.fromEntries(address.value.query));
}

function WorkerGrid({ workers, chosen }: { readonly workers: readonly Worker[]; readonly chosen: string }) {
  const store = useStore();
  const isDark = store.isDark.value;
  const grid = useRef<Grid | undefined>(undefined);
  const draw = (): void =>
    grid.current?.show(workers, place.current?.clientWidth ?? 0, chosen === '' ? undefined : chosen);
  const place = useWidth<HTMLDivElement>(draw);
  // Before the first picture is painted, so that nothing below moves.
  useLayoutEffect(() => {
    grid.current = new Grid();
    place.current!.append(grid.current.canvas);
    const { canvas } = grid.current;
    canvas.addEventListener('click', ({ offsetX, offsetY }) => {
      const worker = grid.current?.at(offsetX, offsetY);
      if (worker !== undefined) location.hash = workerAddress(store, worker.name);
    });
    canvas.addEventListener('pointermove', ({ offsetX, offsetY }) => {
      const worker = grid.current?.at(offsetX, offsetY);
      canvas.title = worker === undefined ? '' : cellWords(worker);
    });
    return () => canvas.remove();
  }, []);
  useLayoutEffect(draw, [workers, chosen]);
  useEffect(() => grid.current?.repaint(), [isDark]);
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape' || chosen === '' || event.defaultPrevented) return;
      place.current?.focus();
      location.replace(workerAddress(store));
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, [chosen]);
  return (
    <div
      ref={place}
      class="grid"
      tabIndex={0}
      role="application"
      aria-label="Grid of workers: select one with the arrow keys. The table below has the same data."
      onKeyDown={(event) => {
        if (!event.key.startsWith('Arrow')) return;
        event.preventDefault();
        const worker = grid.current?.towards(event.key);
        // Navigation within the grid adds no history entries.
        if (worker !== undefined) location.replace(workerAddress(store, worker.name));
      }}
    />
  );
}

function cellWords(worker: Worker): string {
  const { name, busy, queued } = worker;
  return `${name}: ${kindOf(worker)}, ${cpuWords(worker)} CPUs in use, ${counted(busy, 'task')}, ${formatCount(queued)} queued`;
}

/** `3 of 4`. A worker that was lost before the gateway started has unknown CPUs. */
function cpuWords({ cpus, slots, state }: Worker): string {
  if (state === 'lost') return ABSENT;
  const used = cpus < 0 ? 'unknown' : formatCount(Number(cpus.toFixed(1)));
  return slots === 0 ? used : `${used} of ${formatCount(slots)}`;
}

export function GridLegend({ workers }: { readonly workers: readonly Worker[] }) {
  const counts = new Map<string, number>();
  for (const worker of workers) counts.set(kindOf(worker), (counts.get(kindOf(worker)) ?? 0) + 1);
  return (
    <ul class="legend">
      {KINDS.filter(([kind]) => counts.has(kind)).map(([kind, words]) => (
        <li key={kind}>
          <Key colour={cssColour(`cell-${kind}`)} />
          {words} {formatCount(counts.get(kind)!)}
        </li>
      ))}
      <li>filled: the requested share of its CPUs</li>
      <li>
        <Key kind="queue" />
        bar: tasks queued (4 or more = full)
      </li>
    </ul>
  );
}

function WorkerTable({ workers }: { readonly workers: readonly Worker[] }) {
  const store = useStore();
  // The details of more workers than the table shows are not requested.
  const path = workers.length <= ROWS ? '/v1/workers' : undefined;
  const { data, error } = useAnswer<Workers>(path, store.updates.value);
  if (path !== undefined && data === undefined && error === undefined) return <Waiting />;
  return <WorkerRows workers={workers} listed={data?.workers ?? []} />;
}

/** @param props.listed details of the workers; empty until they are known */
export function WorkerRows({
  workers,
  listed,
}: {
  readonly workers: readonly Worker[];
  readonly listed: Workers['workers'];
}) {
  const store = useStore();
  const details = new Map(listed.map((worker) => [worker.name, worker]));
  const others = [...new Set(listed.flatMap(({ resources }) => Object.keys(resources)))]
    .filter((name) => name !== 'cpu' && name !== 'slots')
    .sort();
  const attributes = listed.some((worker) => Object.keys(worker.attributes).length > 0);
  const most = ROWS;
  return (
    <div>
      <Table<Worker>
        caption="Workers"
        rows={workers.slice(0, most)}
        keyOf={({ name }) => name}
        columns={[
          { title: 'name', of: ({ name }) => <a href={workerAddress(store, name)}>{name}</a> },
          { title: 'state', of: ({ state }) => <StateBadge state={state} /> },
          {
            title: 'runs',
            isExtra: true,
            of: (worker) => (worker.state === 'active' ? kindOf(worker) : ABSENT),
          },
          { title: 'CPUs in use', isNumber: true, of: cpuWords },
          { title: 'tasks', isNumber: true, of: ({ busy }) => formatCount(busy) },
          { title: 'queued', isNumber: true, of: ({ queued }) => formatCount(queued) },
          listed.length > 0 && {
            title: 'memory used',
            isNumber: true,
            isExtra: true,
            of: ({ name }) => {
              const worker = details.get(name);
              const used = worker?.used?.memory;
              const total = worker?.resources.memory;
              return `${used === undefined ? 'unknown' : amountOf('memory', used)}${total === undefined ? '' : ` of ${amountOf('memory', total)}`}`;
            },
          },
          ...others
            .filter((name) => name !== 'memory')
            .map((resource) => ({
              title: resource,
              isNumber: true,
              isExtra: true,
              of: ({ name }: Worker) => {
                const total = details.get(name)?.resources[resource];
                return total === undefined ? ABSENT : amountOf(resource, total);
              },
            })),
          attributes && {
            title: 'attributes',
            isExtra: true,
            of: ({ name }) =>
              Object.entries(details.get(name)?.attributes ?? {})
                .map(([key, value]) => `${key}=${value}`)
                .join(', '),
          },
        ]}
      />
      {workers.length > most ? <p class="hint">{formatCount(workers.length - most)} more</p> : null}
    </div>
  );
}

/** Details of a worker, and its actions. */
function WorkerPanel({ name }: { readonly name: string }) {
  const store = useStore();
  const { data, error, reload } = useAnswer<WorkerDetail>(
    `/v1/workers/${encodeURIComponent(name)}`,
    store.updates.value,
  );
  const shown = [...store.workers.value.values()].find((worker) => worker.name === name);
  return (
    <section class="card panel">
      <div aria-live="polite">
        <h2>{name}</h2>
        <a href={workerAddress(store)} class="close">
          Close
        </a>
        {error !== undefined ? (
          <>
            {shown === undefined ? null : <StateBadge state={shown.state} />}
            <p>
              <ErrorText error={error} />
            </p>
          </>
        ) : data === undefined ? (
          <Waiting />
        ) : (
          <WorkerDetails worker={data} />
        )}
      </div>
      {data !== undefined && error === undefined && data.lost === null && store.may('operate') ? (
        <Actions all={actionsOf(data)} done={reload} />
      ) : null}
    </section>
  );
}

export function WorkerDetails({ worker }: { readonly worker: WorkerDetail }) {
  return worker.lost === null ? <Present worker={worker} /> : <Lost worker={worker} lost={worker.lost} />;
}

/** Shows when and why a worker was lost. */
function Lost({
  worker,
  lost: { at, cause, running },
}: {
  readonly worker: WorkerDetail;
  readonly lost: NonNullable<WorkerDetail['lost']>;
}) {
  return (
    <div>
      <Definitions
        rows={[
          ['state', <StateBadge state="lost" />],
          [
            'lost',
            <>
              {clock(at)}, <Ago at={at} />
            </>,
          ],
          ['cause', cause ?? 'unknown: central did not report it'],
          [
            'tasks',
            running === null
              ? 'its tasks restart on other workers'
              : running === 0
                ? 'none ran on it'
                : `${counted(running, 'task')} ran on it, and restart${running === 1 ? 's' : ''} on other workers`,
          ],
          ...attributeRows(worker),
        ]}
      />
      <History events={worker.events} />
    </div>
  );
}

function attributeRows({ attributes }: WorkerDetail): (readonly [string, string])[] {
  return Object.entries(attributes).map(([name, value]) => [name, String(value)] as const);
}

function Present({ worker }: { readonly worker: WorkerDetail }) {
  const { state, quarantine, partition, slots, busy, long, queued, resources, used, heardSecondsAgo } =
    worker;
  const requested = requestedBy(worker);
  return (
    <div>
      <Definitions
        rows={[
          ['state', <StateBadge state={state} />],
          ['why', quarantine],
          ['takes', partition === 'short' ? 'short tasks only' : 'all tasks'],
          ['runs', `${counted(busy, 'task')}${long === null ? '' : `, ${formatCount(long)} long`}`],
          ['CPUs', slots === 0 ? 'unlimited' : formatCount(slots)],
          ['queued', formatCount(queued)],
          ['in use', usedWords(used)],
          ...Object.entries(resources)
            .filter(([name]) => name !== 'cpu')
            .map(([name, value]) => [name, amountOf(name, value)] as const),
          ...attributeRows(worker),
          // Heartbeats arrive every second, so an age below three seconds is current.
          ['last heartbeat', heardSecondsAgo < 3 ? 'now' : ago(1_000 * heardSecondsAgo)],
        ]}
      />
      <RunningHere worker={worker} requested={requested} />
      <History events={worker.events} />
      {worker.counters === null ? (
        <p class="hint">Its counters are unknown: it does not answer this page.</p>
      ) : null}
    </div>
  );
}

function usedWords(used: WorkerDetail['used']): string {
  return used === null
    ? 'unknown'
    : `${amount('CPU', used.cpu ?? 0)}, ${amountOf('memory', used.memory ?? 0)}`;
}

/** Shows the resource use of one task, which only its worker can measure. */
export function UsedByTask({ used }: { readonly used: WorkerDetail['used'] }) {
  return <span title={used === null ? UNKNOWN_USED : undefined}>{usedWords(used)}</span>;
}

const UNKNOWN_USED = 'Not measured yet, or the worker does not answer this page: with keys, no worker does.';

/** Returns what the sampled tasks request of the worker's resources. */
function requestedBy({ tasks, resources }: WorkerDetail): string {
  const requested = new Map<string, number>();
  // A task without a request takes one CPU.
  for (const { demand } of tasks)
    for (const [name, value] of Object.entries({ cpu: 1, ...demand }))
      requested.set(name, (requested.get(name) ?? 0) + value);
  return [...requested]
    .map(([name, value]) => {
      const all = resources[name];
      return `${amountOf(name, value)}${all === undefined ? '' : ` of ${amountOf(name, all)}`} ${name}`;
    })
    .join(', ');
}

function RunningHere({
  worker: { tasks, busy },
  requested,
}: {
  readonly worker: WorkerDetail;
  readonly requested: string;
}) {
  const unseen = Math.max(0, busy - tasks.length);
  return (
    <div>
      <h3>Running here</h3>
      {tasks.length === 0 ? null : (
        <ul class="plain">
          {tasks.map(({ job, name, task, attempt, startedAt, user, used }) => (
            <li key={`${job}/${task}/${attempt}`}>
              <a href={taskLink(job, task)}>
                {name} ({job})
              </a>{' '}
              task {task}
              {user === null ? '' : `, ${user}`}, started <Ago at={startedAt} />; in use:{' '}
              <UsedByTask used={used} />
            </li>
          ))}
        </ul>
      )}
      {requested === '' ? null : <p class="hint">Requested: {requested}.</p>}
      {unseen > 0 ? (
        <p class="hint">{counted(unseen, 'more task')} of jobs outside the sample.</p>
      ) : tasks.length === 0 ? (
        <p class="hint">Nothing runs here.</p>
      ) : null}
    </div>
  );
}

const EVENT_WORDS: Partial<Record<WorkerDetail['events'][number]['state'], string>> = {
  seen: 'first seen by this page',
  joined: 'joined',
  active: 'active again',
};

function History({ events }: Pick<WorkerDetail, 'events'>) {
  return (
    <div>
      <h3>History</h3>
      <ul class="plain">
        {events.toReversed().map(({ at, state, cause }, index) => (
          <li key={events.length - index}>
            {clock(at)} {EVENT_WORDS[state] ?? state}
            {cause === null ? '' : `: ${cause}`}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Time in seconds until running tasks are stopped, if a worker is drained with a deadline. */
const DEADLINE_SECONDS = 600;
const DEADLINE = duration(DEADLINE_SECONDS).replace(' 0 s', '');

function actionsOf({ name, state, busy, queued, tasks }: WorkerDetail): Action[] {
  const to = (verb: string, body?: unknown) => () =>
    post(`/v1/workers/${encodeURIComponent(name)}/${verb}`, body);
  if (state !== 'active' && state !== 'quarantined') return [{ words: 'Resume', run: to('undrain') }];
  const release: Action[] =
    state !== 'quarantined'
      ? []
      : [
          {
            words: 'Release…',
            run: to('undrain'),
            confirm: `End the quarantine of ${name}? It gets tasks again at once.`,
          },
        ];
  const startedAt = tasks.map((task) => Date.parse(task.startedAt));
  const longest =
    startedAt.length === 0 ? '' : ` (the longest has run ${elapsed(Date.now() - Math.min(...startedAt))})`;
  const finish = busy === 0 ? 'Nothing runs there' : `${counted(busy, 'task')} running${longest}`;
  const moved =
    queued === 0 ? 'nothing is queued there' : `${formatCount(queued)} queued will go to other workers`;
  return [
    ...release,
    {
      words: 'Drain…',
      run: to('drain'),
      confirm: `Drain ${name}? It accepts no new tasks. ${finish}${busy === 0 ? '' : ' may finish'}; ${moved}.`,
    },
    ...(busy === 0
      ? []
      : [
          {
            words: `Drain within ${DEADLINE}…`,
            run: to('drain', { deadlineSeconds: DEADLINE_SECONDS }),
            confirm:
              `Drain ${name}? It accepts no new tasks. ${finish}: tasks that still run after ` +
              `${DEADLINE} restart from the beginning on other workers; ${moved}.`,
          },
        ]),
  ];
}
