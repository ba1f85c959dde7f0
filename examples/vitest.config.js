// `npx vitest run --root examples`
export default { test: { include: ['*.test.js'], testTimeout: 120_000 } };
