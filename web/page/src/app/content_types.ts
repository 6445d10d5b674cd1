/** Parts of the repository that the page shows (see content.ts). */
export interface ShippedKernel {
  path: string;
  name: string;
  group: string;
  text: string;
  about: string;
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
