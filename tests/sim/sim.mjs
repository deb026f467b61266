// Runs workloads against a server that is killed, and proves that the clients' observations were
// right.
//
//   node tests/sim/sim.mjs [--seed N] [--seconds N] [--only name,...]
//                          [--cluster DIR [--faults name,...]]
//
// Each workload runs for the given seconds (15). The seed decides what clients do; the moment of a
// kill depends on time. With --cluster, the directory of a cluster that tests/cluster/cluster has
// started, it runs against three servers there, with the faults of cluster_machine.mjs (or those
// named; none).
import { parseArgs } from 'node:util';

import { ClusterMachine } from './cluster_machine.mjs';
import { counters } from './counters.mjs';
import { indexes } from './indexes.mjs';
import { registers } from './registers.mjs';
import { tables } from './tables.mjs';
import { transfers } from './transfers.mjs';

const workloads = { registers, transfers, indexes, counters, tables };

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seconds: { type: 'string' },
    only: { type: 'string' },
    cluster: { type: 'string' },
    faults: { type: 'string' },
  },
});
const seed =
  values.seed ?? process.env.STATOR_SIM_SEED ?? String(Math.floor(Math.random() * 2 ** 32));
const seconds = Number(values.seconds ?? process.env.STATOR_SIM_SECONDS ?? 15);
const names = values.only?.split(',') ?? Object.keys(workloads);
const makeMachine =
  values.cluster === undefined
    ? undefined
    : (options) =>
        new ClusterMachine({
          ...options,
          directory: values.cluster,
          ...(values.faults !== undefined && { faults: values.faults.split(',').filter((name) => name !== 'none') }),
        });
console.log(`seed ${seed}`);
process.exitCode = 1; // until the outcome is known
let failed = 0;
for (const name of names) {
  const begin = Date.now();
  try {
    const result = await workloads[name]({ seed, seconds, makeMachine });
    console.log(
      `ok    ${name} ${((Date.now() - begin) / 1000).toFixed(1)} s ${JSON.stringify(result)}`,
    );
  } catch (error) {
    failed++;
    console.log(
      `FAIL  ${name}, --seed ${seed} --seconds ${seconds} --only ${name}\n${error.stack}`,
    );
  }
}
console.log(`# tests ${names.length}\n# pass ${names.length - failed}\n# fail ${failed}`);
process.exitCode = failed ? 1 : 0;
