import type { TaskDefinition } from '../domain/definition/task-definition.ts';
import type { Command } from '../domain/execution/commands.ts';
import type { Need } from '../domain/execution/needs.ts';
import type { OutputKey } from '../domain/execution/output-cache.ts';
import { DOMAIN_POLL_WITHIN_MS } from '../domain/execution/routing.ts';
import type { Instant, Namespace } from '../domain/kernel/brand.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import type { DecisionEnvironment } from '../domain/tasks/task-semantics.ts';
import type { DecisionReads } from '../ports/engine-store.ts';

type Known = Pick<DecisionEnvironment, 'taskDefinition' | 'cachedOutput' | 'isPolled' | 'environmentValues'>;

const outputKey = ({ taskName, key }: OutputKey): string => JSON.stringify([taskName, key]);

/** What the decisions of one run in one pass asked the store for, and got. */
export class DecisionNeeds implements Known {
  private readonly reads: DecisionReads;
  private readonly namespace: Namespace;
  private readonly now: Instant;
  private readonly definitions = new Map<string, TaskDefinition | null>();
  private readonly outputs = new Map<string, JsonObject | null>();
  private readonly polled = new Map<string, boolean>();
  private readonly environment = new Map<string, Readonly<Record<string, string>>>();

  constructor(reads: DecisionReads, namespace: Namespace, now: Instant) {
    this.reads = reads;
    this.namespace = namespace;
    this.now = now;
  }

  readonly taskDefinition = (name: string) => this.definitions.get(name);
  readonly cachedOutput = (wanted: OutputKey) => this.outputs.get(outputKey(wanted));
  readonly isPolled = (queue: string) => this.polled.get(queue);
  readonly environmentValues = (names: readonly string[]) => this.environment.get(names.join(' '));

  /** What this very pass will store is not in the store yet, but the next task of the run may want it. */
  knows(commands: readonly Command[]): void {
    for (const command of commands) {
      if (command.type === 'StoreTaskOutput') this.outputs.set(outputKey(command), command.output);
    }
  }

  async load(needs: readonly Need[]): Promise<void> {
    for (const need of needs) await this.loadOne(need);
  }

  private async loadOne(need: Need): Promise<void> {
    switch (need.type) {
      case 'needsTaskDefinition': {
        const found = await this.reads.findTasks(this.namespace, [need.name]);
        this.definitions.set(need.name, found.get(need.name)?.definition ?? null);
        return;
      }
      case 'needsCachedOutput': {
        const output = await this.reads.findTaskOutput(this.namespace, need.wanted, this.now);
        this.outputs.set(outputKey(need.wanted), output ?? null);
        return;
      }
      case 'needsEnvironment': {
        const values = await this.reads.findEnvironment(this.namespace, need.names);
        this.environment.set(need.names.join(' '), Object.fromEntries(values));
        return;
      }
      case 'needsPolls': {
        const polled = await this.reads.polledQueues(this.namespace, need.queues, DOMAIN_POLL_WITHIN_MS);
        for (const queue of need.queues) this.polled.set(queue, polled.has(queue));
        return;
      }
      default:
        need satisfies never;
    }
  }
}
