import { counted, formatCount, sumOf, WAITING_LABELS } from '@goshawk/core';
import { type Action, Actions } from './actions.js';
import { post } from './api.js';
import { Lazy, LazyModule } from './lazy.js';
import { addressOf } from './router.js';
import type { Attention, Overview } from './shapes.js';
import { type Store, useStore } from './store.js';
import { Ago, Backticks, Card, Waiting } from './ui.js';
import { clock, countedAll, duration } from './words.js';

const PICTURES = new LazyModule(() => import('./pictures.js'));

export function OverviewView() {
  const store = useStore();
  const overview = store.overview.value;
  if (overview === undefined) return <Waiting />;
  return (
    <>
      <div class="numbers">
        <Tiles overview={overview} />
      </div>
      <div class="front">
        <div class="side">
          <Card title="Needs attention" class="needs">
            <AttentionList all={overview.attention} />
          </Card>
          <Card title="Waiting, by reason" class="waits">
            <WaitingList overview={overview} />
          </Card>
        </div>
        <Lazy part={PICTURES}>{({ Pictures }) => <Pictures />}</Lazy>
      </div>
    </>
  );
}

const UNKNOWN = 'unknown';

function Tile({
  label,
  value,
  more,
  href,
  kind = '',
}: {
  readonly label: string;
  readonly value: string;
  readonly more: string;
  readonly href?: string;
  readonly kind?: string;
}) {
  return (
    <div class={`tile ${value === UNKNOWN ? 'unknown' : kind}`.trim()}>
      <span class="label">{href === undefined ? label : <a href={href}>{label}</a>}</span>
      <strong>{value}</strong>
      <span class="more">{more}</span>
    </div>
  );
}

export function Tiles({ overview }: { readonly overview: Overview }) {
  const { workers, slots, busy, cpusBusy, queued, schedulers, jobs, waiting, policy, failedJobs } = overview;
  const { lastSeen, reachable, silent } = overview;
  const all = sumOf(Object.values(workers), (each) => each);
  const tasks = waiting === null ? undefined : sumOf(waiting, (each) => each.tasks);
  /** Marks a number in which the jobs of silent schedulers are missing. */
  const least = (value: number): string => `${silent.length > 0 ? 'at least ' : ''}${formatCount(value)}`;
  const missing =
    silent.length === 0
      ? ''
      : `, without ${counted(silent.length, 'scheduler')} that ${silent.length === 1 ? 'does' : 'do'} not answer`;
  const out = (['draining', 'drained', 'quarantined', 'lost'] as const).filter((state) => workers[state] > 0);
  const when = lastSeen === null ? 'central has not answered yet' : `${duration(lastSeen.secondsAgo)} ago`;
  /** Renders the last known value with its age. */
  const was = (words: (last: NonNullable<Overview['lastSeen']>) => string): string =>
    lastSeen === null ? when : `${words(lastSeen)}, ${when}`;
  const failed = failedJobs === null || failedJobs === 0 ? '' : `, ${least(failedJobs)} failed in 1 h`;
  const attention = overview.attention.filter(({ over }) => over === null);
  const errors = attention.filter(({ level }) => level === 'error').length;
  return (
    <>
      <Tile
        label="Needs attention"
        value={attention.length === 0 ? 'nothing' : formatCount(attention.length)}
        more={countedAll([
          [errors, 'error'],
          [attention.length - errors, 'warning'],
        ])}
        kind={attention.length === 0 ? '' : errors > 0 ? 'bad' : 'warn'}
      />
      {slots === null || busy === null ? (
        <Tile
          label="CPUs in use"
          value={UNKNOWN}
          more={was((last) => `${counted(last.busy, 'task')}, ${counted(last.slots, 'CPU')} in total`)}
        />
      ) : cpusBusy === null ? (
        <Tile label="Tasks running" value={formatCount(busy)} more={`${counted(slots, 'CPU')} in total`} />
      ) : (
        <Tile
          label="CPUs in use"
          value={`${formatCount(cpusBusy)} of ${formatCount(slots)}`}
          more={`${counted(busy, 'task')} ${busy === 1 ? 'runs' : 'run'}`}
        />
      )}
      <Tile
        label="Tasks waiting"
        value={tasks === undefined ? UNKNOWN : least(tasks)}
        more={`${queued === null ? 'no answer about queues' : `${formatCount(queued)} in worker queues`}${missing}`}
      />
      <Tile
        label="Active jobs"
        value={jobs === null ? UNKNOWN : least(jobs)}
        more={jobs === null ? was((last) => formatCount(last.jobs)) : `waiting or running${failed}${missing}`}
        href={addressOf('jobs', '', { q: 'state:active' })}
      />
      <Tile
        label="Workers"
        value={reachable ? formatCount(all - workers.lost) : UNKNOWN}
        more={
          !reachable
            ? was(() => formatCount(all - workers.lost))
            : out.length === 0
              ? 'all active'
              : out.map((state) => `${formatCount(workers[state])} ${state}`).join(', ')
        }
        href={addressOf('workers')}
      />
      <Tile
        label="Policy"
        value={policy ?? UNKNOWN}
        more={
          schedulers === null
            ? was((last) => counted(last.schedulers, 'scheduler'))
            : counted(schedulers, 'scheduler')
        }
        href={addressOf('policy')}
      />
    </>
  );
}

/** Problems, with buttons that act on them. Those that are over stay for an hour, in gray. */
export function AttentionList({ all }: { readonly all: Overview['attention'] }) {
  const store = useStore();
  const shown = all.filter((item) => !store.dismissed.value.has(dismissalOf(item)));
  const hidden = all.length - shown.length;
  const isWell = shown.every(({ over }) => over !== null);
  return (
    <>
      {isWell ? <p class="well">Nothing needs attention.</p> : null}
      {shown.length === 0 ? null : (
        <ul class="attention">
          {shown.map((item) => (
            <AttentionItem key={item.key} item={item} store={store} />
          ))}
        </ul>
      )}
      {hidden > 0 ? (
        <p class="hint">
          {counted(hidden, 'dismissed item')}{' '}
          <button
            type="button"
            class="plain"
            onClick={() => {
              store.dismissed.value = new Set();
            }}
          >
            Show
          </button>
        </p>
      ) : null}
    </>
  );
}

function jobsOf(actions: Attention['actions']): Set<string | null> {
  return new Set(actions.map(({ job }) => job));
}

/** An item that occurs again after its dismissal is shown again. */
function dismissalOf({ key, times }: Attention): string {
  return `${key} ${times}`;
}

function AttentionItem({ item, store }: { readonly item: Attention; readonly store: Store }) {
  const { level, what, hint, link, since, times, over, actions } = item;
  // A worker that is no longer quarantined may still be drained, before it fails the next job.
  const buttons = over === null ? actions : actions.filter(({ verb }) => verb === 'drain');
  return (
    <li class={over === null ? level : `${level} over`}>
      {link === null ? <strong>{what}</strong> : <a href={link}>{what}</a>}
      {hint === '' ? null : (
        <span class="hint">
          <Backticks text={hint} />
        </span>
      )}
      <span class="hint">
        {over === null ? (
          <>
            since {clock(since)} (<Ago at={since} />)
          </>
        ) : (
          <>
            over since {clock(over)} (<Ago at={over} />
            ), began {clock(since)}
          </>
        )}
        {times > 1 ? `, ${formatCount(times)} times in the last hour` : ''}
      </span>
      <div class="row">
        <Actions
          all={buttons.flatMap((action) => actionOf(action, store))}
          label={`Actions: ${what.slice(0, 60)}`}
        />
        {actions.flatMap(({ verb, job, task }) =>
          verb === 'log' && job !== null
            ? [
                <a
                  key={`${job}/${task}`}
                  href={addressOf('jobs', job, { task: task === null ? '' : String(task) })}
                >
                  Open log{jobsOf(actions).size > 1 ? ` of ${job}` : ''}
                </a>,
              ]
            : [],
        )}
        <button type="button" class="plain" onClick={() => store.dismiss(dismissalOf(item))}>
          Dismiss
        </button>
      </div>
    </li>
  );
}

function actionOf({ verb, job, worker }: Attention['actions'][number], store: Store): Action[] {
  const toJob = (path: string, body?: object) => () =>
    post(`/v1/jobs/${encodeURIComponent(job!)}/${path}`, body);
  const toWorker = (path: string) => () => post(`/v1/workers/${encodeURIComponent(worker!)}/${path}`);
  if (verb === 'drain' && worker !== null && store.may('operate'))
    return [
      {
        words: `Drain ${worker}…`,
        confirm: `Drain ${worker}? It accepts no new tasks; running ones may finish.`,
        run: toWorker('drain'),
      },
    ];
  if (verb === 'remove' && worker !== null && store.may('operate'))
    return [
      {
        words: `Remove ${worker}…`,
        confirm: `Take ${worker} off the list of lost workers? It is listed again when it returns.`,
        run: toWorker('drain'),
      },
    ];
  if (verb === 'release' && worker !== null && store.may('operate'))
    return [
      {
        words: `Release ${worker}…`,
        confirm: `End the quarantine of ${worker}? It gets tasks again at once.`,
        run: toWorker('undrain'),
      },
    ];
  if (verb === 'prioritize' && job !== null && store.may('submit'))
    return [
      {
        words: `Raise priority of ${job}…`,
        confirm: `Start the tasks of ${job} before those of other jobs?`,
        run: toJob('update', { priority: 'high' }),
      },
    ];
  if (verb === 'retry' && job !== null && store.may('submit'))
    return [
      {
        words: `Retry ${job}…`,
        confirm: `Run the failed and cancelled tasks of ${job} again?`,
        run: toJob('retry'),
      },
    ];
  return [];
}

export function WaitingList({
  overview: { waiting: groups, silent },
}: {
  readonly overview: Pick<Overview, 'waiting' | 'silent'>;
}) {
  if (groups === null) return <p class="hint">Unknown: no scheduler answers.</p>;
  const missing = silent.length === 0 ? null : <p class="hint">Not listed: tasks of {silent.join(', ')}.</p>;
  if (groups.length === 0) return missing ?? <p class="well">No task is waiting.</p>;
  const most = Math.max(...groups.map(({ tasks }) => tasks));
  return (
    <div>
      {missing}
      <ul class="waiting">
        {groups.map(({ class: kind, reason, tasks, why, helps, example, exampleAgeSeconds }) => (
          <li key={`${kind} ${reason}`}>
            <div class="line">
              <strong title={reason}>{WAITING_LABELS[reason]}</strong> {counted(tasks, 'task')} of {kind} jobs
            </div>
            <div class="track" aria-hidden="true">
              <span class={`bar ${kind}`} style={{ width: `${(100 * tasks) / most}%` }} />
            </div>
            <div class="hint">
              <Backticks text={why} />; longest <a href={addressOf('jobs', example)}>{example}</a>, accepted{' '}
              {duration(exampleAgeSeconds)} ago. Helps: <Backticks text={`${helps}.`} />
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}
