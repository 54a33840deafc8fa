import type { UseCases } from '../../src/application/use-cases.ts';
import type { Chance } from '../support/chance.ts';
import { NAMESPACE } from './clients.ts';
import {
  type Config,
  drawWorkflow,
  failureWorkflow,
  QUEUES,
  SEMAPHORE,
  secondVersion,
  type Workflow,
} from './generator.ts';

/** Children of children: the second may start the first. */
const CHILDREN = ['child-0', 'child-1'];

/** The definitions of a world: what its runs follow, and what must come of them. */
export class Catalogue {
  readonly workflows: Workflow[] = [];
  /** Those that are started from outside. */
  private readonly programs: Workflow[] = [];
  private readonly config: Config;
  private readonly drawing: Chance;

  constructor(config: Config, drawing: Chance) {
    this.config = config;
    this.drawing = drawing;
  }

  async register(definitions: UseCases['definitions']): Promise<void> {
    for (const name of QUEUES) {
      // A budget is over all runs: what is expected of a run must not depend on what the others did.
      const { limit, rate = 0, permits = 0 } = this.config;
      const isNarrow = name === 'narrow';
      const task = {
        name,
        retryBudget: 1,
        concurrentExecLimit: isNarrow ? limit : 0,
        ...(isNarrow && rate > 0 ? { rateLimitPerFrequency: rate, rateLimitFrequencyInSeconds: 1 } : {}),
        ...(permits > 0 ? { semaphores: [SEMAPHORE] } : {}),
      };
      const registered = await definitions.registerTask(NAMESPACE, task, 'v1');
      if (!registered.ok) throw new Error(JSON.stringify(registered.error));
    }
    const children: Workflow[] = [];
    for (const name of this.config.hasChildren ? CHILDREN : []) {
      children.push(await this.draw(definitions, { name, isChild: true }, [...children]));
    }
    for (let number = 0; number < this.config.programs; number += 1) {
      const program = await this.draw(definitions, { name: `program-${number}`, isChild: false }, children);
      this.programs.push(program);
      if (!this.config.hasActions) continue;
      const { document } = secondVersion(program, this.drawing);
      // Behind a TERMINATE nothing may stand: then there is no second version.
      await definitions.registerWorkflow(NAMESPACE, document, 'v1', true);
    }
    const last = failureWorkflow();
    const registered = await definitions.registerWorkflow(NAMESPACE, last.document, 'v1', true);
    if (!registered.ok) throw new Error(JSON.stringify(registered.error));
    this.workflows.push(last);
  }

  /** Draws until registration has nothing against it. */
  private async draw(
    definitions: UseCases['definitions'],
    name: Parameters<typeof drawWorkflow>[1],
    children: readonly Workflow[],
  ): Promise<Workflow> {
    for (;;) {
      const workflow = drawWorkflow(this.config, name, children, this.drawing);
      const registered = await definitions.registerWorkflow(NAMESPACE, workflow.document, 'v1', true);
      if (!registered.ok) continue;
      this.workflows.push(workflow);
      return workflow;
    }
  }

  find(name: string): Workflow | undefined {
    return this.workflows.find((workflow) => workflow.name === name);
  }

  /** The refs that the definition of that name has, as it names them. */
  refsOf(name: string): readonly string[] {
    const text = JSON.stringify([this.find(name)?.document, this.find(name)?.input]);
    return [...text.matchAll(/"taskReferenceName":"([^"]+)"/g)].map(([, ref]) => ref ?? '');
  }

  pickProgram(chance: Chance): Workflow {
    return chance.pick(this.programs);
  }

  /** A wait that some program has: a signal may come before it. */
  anyWait(chance: Chance): { ref?: string } {
    const refs = JSON.stringify(this.workflows.map(({ document }) => document)).match(/"wait\d+"/g) ?? [];
    return refs.length === 0 ? {} : { ref: chance.pick(refs).slice(1, -1) };
  }
}
