/** Something that must never be. The number is that of the list of invariants which all layers of tests share. */
export type Violation = Readonly<{ invariant: string; text: string; step: number }>;

export class Violations {
  readonly found: Violation[] = [];
  private readonly stepOf: () => number;

  constructor(stepOf: () => number) {
    this.stepOf = stepOf;
  }

  add(invariant: string, text: string): void {
    // What follows from the first mistake is of no interest.
    if (this.found.length < 20) this.found.push({ invariant, text, step: this.stepOf() });
  }
}
