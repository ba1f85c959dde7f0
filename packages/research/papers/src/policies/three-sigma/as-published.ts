import { type ProgramLimits, RowBuilder } from '@goshawk/policies';
import { Demands, type Formulated, formulated, jobRows, type Parts, partsOf } from './formulate.js';
import { DEFERRED, type Problem } from './problem.js';

/**
 * The integer program of the paper (3Sigma §4.3.3, Eq. 3), for tests and cases. It has a variable for the
 * nodes that each option takes from each partition. It ties gangs to partitions at all times; `formulate`
 * does so only for immediate starts.
 */
export function formulateAsPublished(problem: Problem, limits: ProgramLimits): Formulated {
  const parts = partsOf(problem);
  const rows = new RowBuilder();
  jobRows(rows, parts.options);
  const shares = shareRows(rows, parts);
  partitionRows(rows, parts, shares);
  const most = shares.map(({ option }) => problem.pending[parts.options[option]!.job]!.nodes);
  return formulated(parts, rows, most, limits);
}

/** Nodes that an option takes from one of several partitions. */
interface Share {
  readonly option: number;
  readonly partition: number;
  readonly column: number;
}

/**
 * Nodes of an option over its partitions must sum to those of the job. With a single partition, the option's
 * variable suffices.
 */
function shareRows(rows: RowBuilder, { problem, options, candidates }: Parts): Share[] {
  const shares: Share[] = [];
  const first = options.length + candidates.length;
  for (const [option, { job, space, slot }] of options.entries()) {
    const { nodes, spaces } = problem.pending[job]!;
    const { partitions } = spaces[space]!;
    if (slot === DEFERRED || partitions.length === 1) continue;
    for (const partition of partitions) {
      const column = first + shares.length;
      shares.push({ option, partition, column });
      rows.add(column, 1);
    }
    rows.add(option, -nodes);
    rows.end(0, 0);
  }
  return shares;
}

function partitionRows(
  rows: RowBuilder,
  { problem, options, candidates, capacity, holds }: Parts,
  shares: readonly Share[],
): void {
  const { pending, running, partitions, starts } = problem;
  const demands = new Demands(problem);
  const shared = new Map(shares.map((share) => [`${share.option} ${share.partition}`, share.column]));
  for (let x = 0; x < partitions.length; x++) {
    for (let slot = 0; slot < starts.length; slot++) {
      for (const [column, option] of options.entries()) {
        if (option.slot === DEFERRED || option.slot > slot) continue;
        const { nodes, spaces } = pending[option.job]!;
        const own = spaces[option.space]!.partitions;
        const demand = demands.at(option, slot);
        if (!own.includes(x) || demand === 0) continue;
        if (own.length === 1) rows.add(column, demand);
        else rows.add(shared.get(`${column} ${x}`)!, demand / nodes);
      }
      for (const [place, index] of candidates.entries()) {
        const credit = running[index]!.nodes[x]! * holds[index]![slot]!;
        if (credit > 0) rows.add(options.length + place, -credit);
      }
      rows.end(Number.NEGATIVE_INFINITY, capacity[slot]![x]!);
    }
  }
}
