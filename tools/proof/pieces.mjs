// The pieces of a proof. A piece is a command of ./dev, run once or in `slices` with other arguments each; a slice that ended
// is never run again, one that was stopped is. A piece that starts no server is
// `serverless`. `command(slice, seed)` returns the words after ./dev, `env` its environment.
// `shows` says what a passed piece shows and `not` what it leaves open; both stand on the page.

const kSimWorkloads = ['registers', 'transfers', 'indexes', 'counters', 'tables'];
const kStorms = ['killServer', 'freezeServer', 'cutServer', 'killOsd', 'freezeOsd', 'killMonitor'];
const kFuzzTargets = ['audit', 'expr', 'heat_history', 'iam_form', 'identity', 'key_encoding', 'number', 'policy', 'request_json', 'sigv4', 'statement', 'web_token'];

const suite = (id, shows, more = {}) => ({ id, section: 'suites', slices: 1, command: () => [id], shows, ...more });

const suites = [
  suite('fmt', 'formatting of code and documents', { command: () => ['fmt', '--check'], serverless: true }),
  suite('prose', 'the language rule', { serverless: true }),
  suite('docs', 'links between documents', { serverless: true }),
  suite('site', 'pages of the site and every link in them', { serverless: true }),
  suite('rooms', 'which folder of src includes which', { serverless: true }),
  suite('locks', 'annotations of locks, by clang', { serverless: true }),
  suite('messages', 'each error text that DynamoDB is known to answer is expected by a test', { serverless: true }),
  suite('unit', 'unit tests of all rooms, scripts on four hosts'),
  suite('sdk', 'AWS SDK for JavaScript, unmodified'),
  suite('boto3', 'boto3, unmodified'),
  suite('awscli', 'AWS CLI, unmodified'),
  suite('access', 'signatures, policies, TLS; decisions compared with another implementation of IAM policies'),
  suite('upgrade', 'stores that earlier versions wrote'),
  suite('hostile', 'bad input, attacks on time and memory, full disks, damaged files'),
  suite('guidance', "Amazon's guidance on partitions and keys, statement by statement"),
  suite('mcp', "tools for agents, by the client of the protocol's SDK"),
  suite('console', 'the web console in Chromium'),
  suite('differ', "README's table against the alternatives, and the differ's own tests"),
  suite('packages', 'tarball, Debian packages, images and npm packages, installed as a user does', { needs: 'root' }),
  suite('clients', 'Testcontainers, pytest, Compose, manifests, alerts', { needs: 'root' }),
];

const crash = {
  id: 'crash', section: 'kills', slices: 25, unit: '40 kills',
  command: (slice, seed) => ['crash', '--rounds', '20', '--seed', String(seed)],
  shows: 'after SIGKILL under load every acknowledged write is there, and an unanswered one is there whole or not at all',
  not: 'SIGKILL does not lose the page cache, so these kills say nothing of the disk; the power cuts below do.',
};

const power = {
  id: 'power', section: 'kills', slices: 10, unit: '90 power cuts',
  command: () => ['unit', '-R', '^PowerCut', '-V'], env: () => ({ STATOR_BUILD_ONLY: 'kv_rocks_test' }),
  shows: 'RocksDB on a file system that forgets what was not synced: acknowledged writes survive, none survives in part',
  not: 'The file system is simulated below RocksDB. No power was cut on real hardware, and a disk that lies about a sync was not tried.',
};

const sims = kSimWorkloads.map((name) => ({
  id: `sim-${name}`, section: 'histories', slices: 15, unit: '20 s',
  command: (slice, seed) => ['sim', '--seed', String(seed), '--seconds', '20', '--only', name],
  shows: `histories of the workload ${name} under kills have an explanation`,
}));

const simulation = {
  id: 'simulation', section: 'histories', slices: 25, unit: '40 seeds',
  command: () => ['unit', '-R', '^StoreSimulation|^TransactionSimulation', '-V'],
  env: (slice, seed) => ({ STATOR_SIM_SEED: String(seed), STATOR_SIM_RUNS: '40', STATOR_BUILD_ONLY: 'table_test kv_tx_test' }),
  shows: 'the store and transactions over several units in one thread, every event from a seed',
};

const cluster = {
  id: 'cluster', section: 'ceph', slices: 1, needs: 'ceph',
  command: () => ['cluster-test'], env: () => ({ STATOR_CLUSTER_STORM: '0' }),
  shows: 'the engine on RADOS with every fault of its own tests, on memstore and bluestore; scripts and SDK on three servers',
};
const storms = kStorms.map((fault) => ({
  id: `storm-${fault}`, section: 'ceph', slices: 1, needs: 'ceph', fault,
  command: () => ['cluster-test', '--gtest_filter=-*'],
  env: (slice, seed) => ({ STATOR_CLUSTER_FAULTS: fault, STATOR_CLUSTER_STORM: '60', STATOR_CLUSTER_SUITES: '', STATOR_SIM_SEED: String(seed) }),
  shows: `five workloads on three servers through ${fault}`,
}));
const storm = {
  id: 'storm-all', section: 'ceph', slices: 3, needs: 'ceph', unit: '5 workloads of 60 s',
  command: () => ['cluster-test', '--gtest_filter=-*'],
  env: (slice, seed) => ({ STATOR_CLUSTER_STORM: '60', STATOR_CLUSTER_SUITES: '', STATOR_SIM_SEED: String(seed) }),
  shows: 'five workloads on three servers through all faults, one or two at a time, and a server cut off beyond every deadline',
  not: 'Monitor, OSDs and servers share one machine and its clock: no network between hosts, no clock skew, one monitor.',
};

const sanitizers = [
  { id: 'asan', section: 'sanitizers', slices: 1, command: () => ['asan'], shows: 'unit tests and scripts under AddressSanitizer and UBSan' },
  { id: 'tsan', section: 'sanitizers', slices: 1, command: () => ['tsan'], shows: 'unit tests and scripts under ThreadSanitizer',
    not: "RocksDB's and Ceph's libraries are not instrumented." },
];

const fuzz = kFuzzTargets.map((name) => ({
  id: `fuzz-${name}`, section: 'fuzz', slices: 20, unit: '30 s', target: name,
  command: () => ['fuzz', '30', `fuzz_${name}`],
  shows: `fuzz_${name} under AddressSanitizer and UBSan`,
}));

const diff = {
  id: 'diff', section: 'conformance', slices: 30, unit: '2,000 requests',
  command: (slice, seed) => ['diff', '--seed', `proof-${seed}`, '--count', '2000'],
  shows: 'answers equal those of DynamoDB Local, but for the differences that rules name',
  not: 'DynamoDB Local is not the service: nothing was compared with DynamoDB in the cloud. Streams, backups, throttling, access control ' +
    'and operations that the table does not name were not compared.',
};

const bench = {
  id: 'bench', section: 'benchmark', slices: 1, needs: 'quiet',
  command: () => ['bench'],
  shows: 'Stator, its peers, nginx and Redis on one machine in one run',
};

export const pieces = [...suites, crash, power, ...sims, simulation, cluster, ...storms, storm, ...sanitizers, ...fuzz, diff, bench];

/** What no piece looks at. */
export const kNeverShown = [
  'Long production use: this code has not run for months anywhere.',
  'Other machines: every figure is from one machine with two cores; other processors, kernels, file systems and disks were not tried.',
  'Real power cuts, disks that return wrong bytes, and disks that acknowledge a sync that they did not do.',
  'Ceph on several hosts, with more than three OSDs or a network that is slow by itself.',
  'Data larger than a few gigabytes, and load for longer than minutes.',
  'The DynamoDB service itself: no request was sent to AWS.',
];
