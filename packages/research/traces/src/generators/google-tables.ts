/**
 * Tables of the `google-like` generator: statistics of 9,939 jobs of the 2011 Google trace (CC-BY 4.0),
 * weighted and adjusted so that the longest tenth of the jobs has the shares of tasks and task seconds that
 * Hawk (§2.3) reports for the whole trace. docs/SIMULATE.md describes how.
 */

/** Jobs of one class within a range of sizes: from the size after the band before up to the last in `sizes`. */
export interface SizeBand {
  /** Number of tasks, and the share of the class's jobs that have no more. Uniform in between; a repeated share is a gap. */
  readonly sizes: readonly (readonly [tasks: number, cumulativeShare: number])[];
  /** Mean task duration of a job in seconds, at the quantiles `MEAN_QUANTILES`. Log-linear in between. */
  readonly meanSeconds: readonly number[];
  /**
   * Spread of the durations within a job (standard deviation over mean), at the quantiles
   * `SPREAD_QUANTILES`. Log-linear in between. Jobs of one task have none.
   */
  readonly spread: readonly number[] | undefined;
}

export const MEAN_QUANTILES: readonly number[] = [
  0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1,
];
export const SPREAD_QUANTILES: readonly number[] = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];

/** The shorter nine tenths of the jobs by mean task duration: at most 918 s. */
// biome-ignore format: a table
export const SHORT_JOBS: readonly SizeBand[] = [
  {
    sizes: [[1, 0.6631]],
    meanSeconds: [11.4, 15.1, 19.7, 23.3, 35.1, 58.8, 69.8, 87.6, 108, 142, 218, 353, 516, 730, 811, 918],
    spread: undefined,
  },
  {
    sizes: [[2, 0.7192], [3, 0.7329], [5, 0.7571], [8, 0.7912], [10, 0.8125]],
    meanSeconds: [39.4, 49.7, 52.8, 54.7, 58.5, 62.8, 68.5, 78.6, 91.8, 107, 148, 242, 340, 508, 646, 918],
    spread: [0.001, 0.0017, 0.0054, 0.013, 0.023, 0.042, 0.075, 0.15, 1.8],
  },
  {
    sizes: [[15, 0.8562], [20, 0.9044], [30, 0.9421], [40, 0.9505], [50, 0.9576]],
    meanSeconds: [32.2, 51.1, 55.9, 60, 67.4, 74.4, 81.4, 89, 99.5, 121, 188, 266, 358, 563, 689, 918],
    spread: [0.0012, 0.013, 0.034, 0.094, 0.145, 0.28, 0.46, 0.66, 2],
  },
  {
    sizes: [[75, 0.9625], [100, 0.97], [150, 0.9716], [200, 0.9771]],
    meanSeconds: [53.9, 56.7, 64.7, 69.1, 92.4, 113, 125, 170, 240, 401, 596, 777, 833, 887, 897, 918],
    spread: [0.0038, 0.015, 0.039, 0.1, 0.24, 0.56, 0.81, 2, 2.7],
  },
  {
    sizes: [
      [300, 0.9789], [400, 0.982], [500, 0.9837], [600, 0.9839],
      [700, 0.9848], [800, 0.9851], [900, 0.9875], [950, 0.9919],
    ],
    meanSeconds: [63.8, 64.4, 74.3, 78.4, 120, 150, 180, 200, 230, 314, 400, 520, 740, 825, 869, 918],
    spread: [0.0036, 0.029, 0.052, 0.11, 0.22, 0.55, 0.83, 1.7, 3.5],
  },
  {
    sizes: [[1000, 0.9978], [1050, 0.9992], [1100, 0.9992]],
    meanSeconds: [86.9, 86.9, 172, 202, 215, 255, 310, 345, 374, 436, 470, 640, 740, 800, 819, 918],
    spread: [0.068, 0.11, 0.15, 0.59, 0.8, 0.85, 0.9, 1.2, 5.1],
  },
  {
    sizes: [[1500, 0.9993], [2000, 0.9995], [3000, 0.9998], [4000, 1]],
    meanSeconds: [178, 178, 178, 191, 235, 270, 310, 405, 464, 490, 548, 605, 757, 868, 888, 918],
    spread: [0.041, 0.22, 0.28, 0.42, 0.59, 1.1, 1.2, 1.2, 1.2],
  },
];

/** The longest tenth of the jobs by mean task duration: from 919 s. */
// biome-ignore format: a table
export const LONG_JOBS: readonly SizeBand[] = [
  {
    sizes: [[1, 0.6883]],
    meanSeconds: [919, 926, 986, 1070, 1230, 1350, 1420, 1520, 1960, 2340, 3040, 5500, 10300, 16300, 22900, 326000],
    spread: undefined,
  },
  {
    sizes: [[2, 0.7043], [3, 0.7113], [5, 0.7313], [8, 0.7553], [10, 0.7823]],
    meanSeconds: [919, 931, 1000, 1080, 1170, 1240, 1300, 1360, 1380, 1430, 2000, 3020, 7170, 11000, 12300, 13000],
    spread: [0.001, 0.001, 0.0017, 0.006, 0.048, 0.25, 0.35, 0.77, 0.98],
  },
  {
    sizes: [[15, 0.7993], [20, 0.8113], [30, 0.8272], [40, 0.8402], [50, 0.8504]],
    meanSeconds: [919, 920, 928, 958, 1080, 1200, 1330, 1440, 1540, 2000, 2460, 5190, 12900, 18800, 50000, 61700],
    spread: [0.001, 0.0018, 0.0035, 0.0077, 0.027, 0.097, 0.15, 0.42, 0.47],
  },
  {
    sizes: [[75, 0.8695], [100, 0.9133], [150, 0.9195], [200, 0.9367]],
    meanSeconds: [919, 963, 998, 1040, 1130, 1210, 1310, 1530, 1800, 2180, 3340, 7600, 13500, 32200, 40000, 40700],
    spread: [0.0017, 0.0029, 0.0095, 0.029, 0.1, 0.35, 0.72, 1.8, 2.1],
  },
  {
    sizes: [
      [300, 0.9398], [400, 0.9501], [500, 0.9553], [600, 0.9577],
      [700, 0.9577], [800, 0.9591], [900, 0.9614], [950, 0.9663],
    ],
    meanSeconds: [919, 948, 957, 987, 1180, 1410, 1740, 2000, 2700, 3500, 4620, 12800, 14500, 15500, 15600, 15600],
    spread: [0.0043, 0.0058, 0.01, 0.033, 0.12, 0.28, 0.36, 0.56, 0.56],
  },
  {
    sizes: [[1000, 0.9746], [1050, 0.9843], [1100, 0.9867]],
    meanSeconds: [919, 927, 940, 960, 1030, 1200, 1390, 1480, 1570, 1700, 1880, 2900, 25000, 104000, 106000, 109000],
    spread: [0.05, 0.07, 0.11, 0.16, 0.23, 0.5, 0.7, 0.79, 0.9],
  },
  {
    sizes: [[1500, 0.9867], [2000, 0.9936], [3000, 0.9945], [4000, 0.9945], [5000, 1]],
    meanSeconds: [919, 1100, 1390, 1400, 1410, 1420, 1450, 1750, 2000, 2700, 3300, 5000, 12500, 13400, 13400, 13400],
    spread: [0.02, 0.04, 0.06, 0.16, 0.25, 0.39, 0.59, 0.65, 0.7],
  },
];
