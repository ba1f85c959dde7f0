import { counted, formatCount, formatShare } from '@goshawk/core';
import type { Policy, Predictor } from './shapes.js';
import { Card, Definitions, Problem, Table, Waiting } from './ui.js';
import { useAnswer } from './use-answer.js';
import { ABSENT, duration } from './words.js';

/** Refresh interval (ms). The interval is long, because settings rarely change. */
const REFRESH_MS = 10_000;

export function PolicyView() {
  const policy = useAnswer<Policy>('/v1/policy', 0, REFRESH_MS);
  const predictor = useAnswer<Predictor>('/v1/predictor', 0, REFRESH_MS);
  return (
    <>
      <Problem error={policy.error ?? predictor.error} />
      <div class="columns">
        <Card title="Settings">
          {policy.data === undefined ? <Waiting /> : <SettingList policy={policy.data} />}
        </Card>
        <Card title="Messages">
          {policy.data === undefined ? <Waiting /> : <MessageTable policy={policy.data} />}
        </Card>
      </div>
      <Card title="Predictor">
        {predictor.data === undefined ? <Waiting /> : <Scoreboard predictor={predictor.data} />}
      </Card>
    </>
  );
}

function originOf(jobs: Policy['cutoffJobs']): string {
  if (jobs === null) return 'set by --cutoff';
  return jobs === 0 ? 'the default' : `learned from ${counted(jobs, 'job')}`;
}

export function SettingList({ policy: all }: { readonly policy: Policy }) {
  const { policy, title, estimator, cutoffSeconds, cutoffJobs, reserve, reserveNow } = all;
  const kept = reserveNow === null ? '' : `, now ${formatShare(reserveNow)} of the CPUs`;
  return (
    <Definitions
      rows={[
        ['policy', policy],
        ['meaning', title],
        [
          'cutoff',
          `a job whose tasks take ${duration(cutoffSeconds)} or more on average is long (${originOf(cutoffJobs)})`,
        ],
        ['estimator', estimator],
        ['reserve', `${reserve === 'auto' ? 'auto' : formatShare(reserve)}${kept}: reserved for short tasks`],
      ]}
    />
  );
}

export function MessageTable({ policy: { messagesPerTask, messages } }: { readonly policy: Policy }) {
  const rows = Object.entries(messages).sort(([, a], [, b]) => b - a);
  return (
    <div>
      {messagesPerTask === null ? null : (
        <p>
          <strong>{messagesPerTask.toFixed(1)}</strong> messages per task since the cluster started, without
          heartbeats and messages between workers
        </p>
      )}
      {rows.length === 0 ? null : (
        <Table<[string, number]>
          caption="Messages by type"
          rows={rows}
          keyOf={([type]) => type}
          columns={[
            { title: 'type', of: ([type]) => <code>{type}</code> },
            { title: 'messages', isNumber: true, of: ([, many]) => formatCount(many) },
          ]}
        />
      )}
    </div>
  );
}

export function Scoreboard({ predictor: { estimators } }: { readonly predictor: Predictor }) {
  if (estimators.length === 0) {
    return (
      <p class="hint">
        No estimator runs in shadow: <code>goshawk up --shadow pilot,history,hybrid</code> compares them on
        your jobs.
      </p>
    );
  }
  const off = (value: number | null) => (value === null ? ABSENT : `${Math.round(value)}%`);
  return (
    <Table<Predictor['estimators'][number]>
      caption="Estimators in shadow"
      rows={estimators}
      keyOf={({ estimator }) => estimator}
      columns={[
        { title: 'estimator', of: ({ estimator }) => estimator },
        { title: 'jobs', isNumber: true, of: ({ jobs }) => formatCount(jobs) },
        { title: 'estimated', isNumber: true, of: ({ estimated }) => formatCount(estimated) },
        { title: 'error, p50', isNumber: true, of: ({ errorPercent }) => off(errorPercent.p50) },
        { title: 'p90', isNumber: true, of: ({ errorPercent }) => off(errorPercent.p90) },
        {
          title: 'wrong class',
          isNumber: true,
          of: ({ misclassifiedJobsPercent }) => off(misclassifiedJobsPercent),
        },
      ]}
    />
  );
}
