/** Helpers for tests and benches. */
export * from './autoscale/slurm.fixture.js';
export * from './chromium.fixture.js';
export * from './daemons.fixture.js';
export * from './goshawk-process.fixture.js';
export * from './schemas.fixture.js';
export * from './terminal.fixture.js';
export * from './test-cluster.fixture.js';
export * from './test-daemons.fixture.js';
