import type { Paper } from '../figure.js';

export const SLEARN: Paper = {
  name: 'SLearn',
  reference:
    'A. Jajoo, Y. C. Hu, X. Lin, N. Deng: A Case for Task Sampling based Learning for Cluster Job Scheduling, USENIX NSDI 2022',
};
