import { sumOf } from '@goshawk/core';
import { useMemo } from 'preact/hooks';
import type uPlot from 'uplot';
import { type ChartTime, Plot } from './plot.js';
import { jobsLink } from './router.js';
import type { Point } from './shapes.js';
import { useParam, useStore } from './store.js';
import { colour, Disclosure, Key, Table } from './ui.js';
import { ABSENT, amountOf, colourOf, minute } from './words.js';

const RESOURCES = ['cpu', 'gpu', 'memory'] as const;
const RESOURCE_WORDS: Readonly<Record<string, string>> = { cpu: 'CPUs', gpu: 'GPUs', memory: 'Memory' };
/** Maximum number of users in the picture; the others are one area. */
const USERS = 8;
const OTHERS = '…';
/** Values of `span` in the address. */
const SPANS = [
  ['', 'last hour'],
  ['day', 'last day'],
] as const;
/** Maximum number of rows of the table behind the chart, newest first. */
const ROWS = 60;

/** What each user has of one resource, by time, from the bottom of the picture. */
export interface Areas {
  readonly users: readonly string[];
  readonly times: readonly number[];
  /** Amounts by user and time; null: unknown. */
  readonly amounts: readonly (readonly (number | null)[])[];
  /** Total amount in the cluster at the last point. */
  readonly capacity: number;
}

/** Returns the areas of the users with the largest use, and of all others together. */
export function areasOf(points: readonly Point[], resource: string): Areas {
  const sums = new Map<string, number>();
  for (const { use } of points)
    for (const [user, value] of Object.entries(use?.[resource] ?? {}))
      sums.set(user, (sums.get(user) ?? 0) + value);
  const sorted = [...sums]
    .sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1))
    .map(([user]) => user);
  const top = sorted.filter((user) => user !== OTHERS).slice(0, USERS);
  const rest = sorted.filter((user) => !top.includes(user));
  const rows = top.map((user) =>
    points.map(({ use }) => (use === null ? null : (use[resource]?.[user] ?? 0))),
  );
  if (rest.length > 0)
    rows.push(
      points.map(({ use }) => (use === null ? null : sumOf(rest, (user) => use[resource]?.[user] ?? 0))),
    );
  return {
    users: rest.length > 0 ? [...top, OTHERS] : top,
    times: points.map(({ at }) => at),
    amounts: rows,
    capacity: points.findLast(({ capacity }) => capacity !== null)?.capacity?.[resource] ?? 0,
  };
}

/** Returns the sums from the bottom, the largest one first, so that a smaller area covers a part of the one before. */
export function stacked(amounts: Areas['amounts']): (number | null)[][] {
  const sums: (number | null)[][] = [];
  for (const row of amounts) {
    const below = sums.at(-1);
    sums.push(row.map((value, at) => (value === null ? null : value + (below?.[at] ?? 0))));
  }
  return sums.reverse();
}

/** The exact use of the cluster by user, from central's books, and the choice of the time of all charts. */
export function AreaCard({ time }: { readonly time: ChartTime }) {
  const store = useStore();
  const { points } = time;
  const span = useParam('span');
  const isLive = time.mark === undefined;
  const asked = useParam('area', 'cpu');
  const known = RESOURCES.filter((name) => (points.at(-1)?.capacity?.[name] ?? 0) > 0);
  const resource = (known as readonly string[]).includes(asked) ? asked : 'cpu';
  const areas = useMemo(() => areasOf(points, resource), [points, resource]);
  const { users, times, amounts, capacity } = areas;
  const isDark = store.isDark.value;
  const data = useMemo((): uPlot.AlignedData => [[...times], ...stacked(amounts)], [areas]);
  const fill = (user: string): string =>
    user === OTHERS ? colour('cell-drained') : colourOf(user, '', isDark);
  return (
    <section class="card">
      <h2>In use, by user</h2>
      <div class="filters">
        <span role="group" aria-label="Time of the charts">
          {SPANS.map(([value, words]) => (
            <button
              key={value}
              type="button"
              aria-pressed={isLive && span === value}
              onClick={() => store.setQuery({ span: value, until: '', seconds: '' })}
            >
              {words}
            </button>
          ))}
        </span>
        {known.length < 2 ? null : (
          <span role="group" aria-label="Resource">
            {known.map((name) => (
              <button
                key={name}
                type="button"
                aria-pressed={name === resource}
                onClick={() => store.setQuery({ area: name === 'cpu' ? '' : name })}
              >
                {RESOURCE_WORDS[name]}
              </button>
            ))}
          </span>
        )}
      </div>
      <Plot
        kind={`${resource} ${users.join()}`}
        data={data}
        time={time}
        options={() => optionsOf(resource, capacity, users.map(fill).reverse())}
        label={`${RESOURCE_WORDS[resource]} in use by user: a chart of ${time.words}; the table below has its numbers`}
      />
      <AreaLegend areas={areas} resource={resource} isDark={isDark} />
      <Disclosure
        name="use"
        build={() => (
          <Table<number>
            caption={`${RESOURCE_WORDS[resource]} in use by user`}
            columns={[
              { title: 'time', of: (at) => minute(1_000 * times[at]!) },
              ...users.map((user, row) => ({
                title: user || 'unknown user',
                isNumber: true,
                of: (at: number) => {
                  const value = amounts[row]![at]!;
                  return value === null ? ABSENT : amountOf(resource, value);
                },
              })),
            ]}
            rows={times
              .map((_, at) => at)
              .toReversed()
              .slice(0, ROWS)}
            keyOf={(at) => times[at]!}
          />
        )}
      />
    </section>
  );
}

function AreaLegend({
  areas: { users, amounts, capacity },
  resource,
  isDark,
}: {
  readonly areas: Areas;
  readonly resource: string;
  readonly isDark: boolean;
}) {
  const last = (at: number): number | null => amounts[at]?.at(-1) ?? null;
  return (
    <ul class="legend">
      {users.map((user, at) => (
        <li key={user}>
          <Key colour={user === OTHERS ? 'var(--cell-drained)' : colourOf(user, '', isDark)} />
          {user === OTHERS ? (
            'other users'
          ) : user === '' ? (
            'unknown user'
          ) : (
            <a href={jobsLink(`user:${user} state:active`)}>{user}</a>
          )}{' '}
          {last(at) === null ? ABSENT : amountOf(resource, last(at)!)}
        </li>
      ))}
      <li>
        {capacity > 0 ? `of ${amountOf(resource, capacity)} ${RESOURCE_WORDS[resource]}` : 'no data yet'}
      </li>
    </ul>
  );
}

function optionsOf(
  resource: string,
  capacity: number,
  fills: readonly string[],
): Omit<uPlot.Options, 'width' | 'height'> {
  const axis = {
    stroke: colour('quiet'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  };
  return {
    legend: { show: false },
    cursor: { show: false },
    scales: {
      y: { range: (_, __, to) => [0, Math.max(capacity, to, 1)] },
    },
    axes: [
      { ...axis, values: (_, splits) => splits.map((at) => minute(1_000 * at)), space: 60, size: 32 },
      {
        ...axis,
        values: (_: unknown, splits: readonly (number | null)[]) =>
          splits.map((split) => (split === null ? '' : amountOf(resource, split))),
        size: 62,
        space: 28,
      },
    ],
    series: [{}, ...fills.map((fill) => ({ fill, stroke: fill, width: 0, points: { show: false } }))],
  };
}
