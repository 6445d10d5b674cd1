/** Parts of the repository that the page shows (see content.ts). */
export interface ShippedKernel {
  path: string;
  name: string;
  group: string;
  text: string;
  about: string;
}
/** A kernel's time for 4096³ on the H200 of docs/performance.md, and its rate in 10^12 operations or bytes a second. */
export interface Measured {
  path: string;
  /** The kernel, if its file has several. */
  kernel: string | null;
  type: string;
  ms: number;
  rate: number;
  unit: string;
  bound: string;
}
export interface Puzzle {
  number: number;
  name: string;
  text: string;
  starter: string;
  solution: string;
  cuda: boolean;
}
export interface Lesson {
  path: string;
  title: string;
  text: string;
}
