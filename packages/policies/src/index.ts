export * from './books/books.js';
export * from './books/draft.js';
export * from './books/entries.js';
export * from './carbyne/index.js';
export * from './contract.js';
export * from './packing/index.js';
export * from './three-sigma/index.js';
export * from './trial/trial.js';
