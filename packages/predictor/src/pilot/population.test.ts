import { Random } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import { Population } from './population.js';

const TASKS = 20;

/**
 * Jobs whose mean task run times, and whose tasks within a job, spread this much: standard deviations of logarithms.
 */
function populationOf(jobs: number, between: number, within: number): Population {
  const random = Random.seeded(`population ${between} ${within}`);
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  const population = new Population();
  for (let job = 0; job < jobs; job++) {
    const log = Math.log(1_000) + between * normal();
    population.learn(Array.from({ length: TASKS }, () => Math.exp(log + within * normal())));
  }
  return population;
}

describe('the estimate of a job', () => {
  test('follows its pilots if jobs differ and their tasks do not', () => {
    const population = populationOf(200, 2, 0.1);
    expect(population.weigh(50_000, 1)).toBeGreaterThan(48_000);
    expect(population.weigh(20, 1)).toBeLessThan(21);
  });

  test('follows the population if jobs are alike and their tasks differ, except with many pilots', () => {
    const population = populationOf(200, 0, 1);
    const typicalMs = population.typicalMs!;
    expect(population.weigh(10 * typicalMs, 1) / typicalMs).toBeLessThan(1.2);
    expect(population.weigh(typicalMs / 10, 1) / typicalMs).toBeGreaterThan(0.8);
    const error = (pilots: number): number => population.weigh(10 * typicalMs, pilots) / typicalMs;
    expect(error(10)).toBeGreaterThan(error(1));
  });

  test('follows its pilots if they took longer than any other job', () => {
    const population = populationOf(200, 0, 0.3);
    const typicalMs = population.typicalMs!;
    expect(population.weigh(1.5 * typicalMs, 1) / typicalMs).toBeLessThan(1.1);
    expect(population.weigh(50 * typicalMs, 1)).toBe(50 * typicalMs);
  });

  test('lies between the pilots and the population if both jobs and tasks differ', () => {
    const population = populationOf(200, 0.7, 0.7);
    const estimateMs = population.weigh(8_000, 1);
    expect(estimateMs).toBeGreaterThan(1.5 * population.typicalMs!);
    expect(estimateMs).toBeLessThan(5_000);
  });

  test('follows its pilots until enough jobs have ended', () => {
    expect(new Population().weigh(5_000, 1)).toBe(5_000);
    expect(populationOf(9, 0, 1).weigh(5_000, 1)).toBe(5_000);
    expect(populationOf(11, 0, 1).weigh(2_000, 1)).toBeLessThan(2_000);
  });
});

describe('the typical job', () => {
  test('is the geometric mean of ended jobs, and undefined without any', () => {
    const population = new Population();
    expect(population.typicalMs).toBeUndefined();
    population.learn([100, 100]);
    population.learn([10_000, 10_000]);
    // The last one counts a little more.
    expect(population.typicalMs).toBeGreaterThan(1_000);
    expect(population.typicalMs).toBeLessThan(1_030);
  });

  test('learns nothing from single tasks, which do not show how tasks differ, nor from tasks of 0 ms', () => {
    const population = new Population();
    population.learn([5_000]);
    population.learn([0, 0]);
    expect(population.typicalMs).toBeUndefined();
  });

  test('changes with the jobs that arrive', () => {
    const population = populationOf(200, 0.1, 0.1);
    for (let job = 0; job < 1_000; job++) population.learn([40, 40]);
    expect(population.typicalMs).toBeLessThan(50);
  });
});

test('continues from its saved state', () => {
  const population = populationOf(50, 0.5, 0.5);
  const again = new Population();
  again.load(JSON.parse(JSON.stringify(population.save())));
  expect(again.weigh(9_000, 2)).toBe(population.weigh(9_000, 2));
  expect(again.typicalMs).toBe(population.typicalMs);
});
