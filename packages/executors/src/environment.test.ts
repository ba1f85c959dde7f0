import { expect, it } from 'vitest';
import { inheritedEnvironment } from './environment.js';

it('tasks see only listed variables', () => {
  const environment = {
    PATH: '/bin',
    LC_TIME: 'C',
    AWS_SECRET_ACCESS_KEY: 's',
    NODE_OPTIONS: '--x',
    TZ: undefined,
  };
  expect(inheritedEnvironment(environment)).toEqual({ PATH: '/bin', LC_TIME: 'C' });
});

it('the list may contain names and prefixes', () => {
  const environment = { PATH: '/bin', CUDA_HOME: '/c', CUDA_ROOT: '/r', CUDNN: '/d' };
  expect(inheritedEnvironment(environment, ['CUDA_*', 'PATH'])).toEqual({
    PATH: '/bin',
    CUDA_HOME: '/c',
    CUDA_ROOT: '/r',
  });
});
