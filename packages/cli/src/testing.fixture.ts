/** What tests and benches take from here. */
export * from './daemon-process.fixture.js';
