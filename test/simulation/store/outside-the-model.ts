/**
 * The methods of a port that are simulated, as the port. One that is left out has no part in what is simulated
 * (docs/simulation.md lists what has none); calling it all the same fails the world, as a defect.
 */
export const asPort = <Port extends object>(methods: Partial<Port>): Port => methods as Port;
