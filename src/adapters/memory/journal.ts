type Undo = () => void;

/** The undo log of the open transaction: what each write took away, newest last. */
export class Journal {
  #undos: Undo[] = [];

  record(undo: Undo): void {
    this.#undos.push(undo);
  }

  commit(): void {
    this.#undos = [];
  }

  rollback(): void {
    for (let undo = this.#undos.pop(); undo !== undefined; undo = this.#undos.pop()) undo();
  }
}
