/** What tests of other packages take from here. */
export * from './codec/arbitraries.fixture.js';
export * from './mailbox/tap.fixture.js';
export * from './mailbox/testing.fixture.js';
