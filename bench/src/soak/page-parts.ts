/** Parts of the page by the fragment after `#/`, with the requests that each sends in addition to the event stream. */
export const PARTS: readonly {
  readonly address: string;
  readonly asks: readonly string[];
  readonly everyMs: number;
}[] = [
  { address: '', asks: [], everyMs: 0 },
  { address: 'workers', asks: [], everyMs: 0 },
  { address: 'jobs', asks: ['/v1/jobs?from=0&limit=50&all=false'], everyMs: 0 },
  { address: 'workers/w0', asks: ['/v1/workers/w0'], everyMs: 0 },
  { address: 'policy', asks: ['/v1/policy', '/v1/predictor'], everyMs: 10_000 },
];
