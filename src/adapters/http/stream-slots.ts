/** Counts the open streams of each principal. */
export class StreamSlots {
  private readonly open = new Map<string, number>();
  private readonly perPrincipalMax: number;

  constructor(perPrincipalMax: number) {
    this.perPrincipalMax = perPrincipalMax;
  }

  /** Takes a slot: the function gives it back, once however often it is called. Undefined when the principal has them all. */
  take(principalId: string): (() => void) | undefined {
    const taken = this.open.get(principalId) ?? 0;
    if (taken >= this.perPrincipalMax) return undefined;
    this.open.set(principalId, taken + 1);
    let isHeld = true;
    return () => {
      if (isHeld) this.giveBack(principalId);
      isHeld = false;
    };
  }

  private giveBack(principalId: string): void {
    const left = (this.open.get(principalId) ?? 1) - 1;
    if (left === 0) this.open.delete(principalId);
    else this.open.set(principalId, left);
  }
}
