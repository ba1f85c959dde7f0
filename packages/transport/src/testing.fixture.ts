/** Test helpers for other packages. */
export * from './codec/arbitraries.fixture.js';
export * from './mailbox/tap.fixture.js';
export * from './mailbox/testing.fixture.js';
