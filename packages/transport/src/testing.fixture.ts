/** Test helpers for other packages. */
export * from './codec/arbitraries.fixture.js';
export * from './connection/tap.fixture.js';
export * from './connection/testing.fixture.js';
