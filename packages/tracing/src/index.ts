export { OtlpTracing } from './otlp.js';
