// The site's menu. A document of docs/ without a place in it stands in a last group, "More"; `title` is for those whose own is long.
const page = (file, title) => ({ file, title });

export const kGroups = [
  { title: 'Start', pages: [
    page('README.md', 'Stator'), page('docs/compared.md', 'Compared'), page('docs/samples.md', 'Samples'), page('docs/migrating.md'), page('docs/learn.md', 'Learn'),
  ] },
  { title: 'Use', pages: [
    page('docs/operations.md', 'Operations'), page('docs/differences.md', 'Differences'), page('docs/limits.md', 'Limits'), page('docs/console.md', 'Console'),
    page('docs/backup.md', 'Backup'), page('docs/past.md', 'Past'), page('docs/export.md', 'Export and import'), page('docs/import-export.md', 'Command line export'), page('docs/tools.md', 'Tools'), page('docs/mcp.md', 'Agents'), page('clients/README.md', 'Clients'), page('docs/faults.md', 'Faults'), page('docs/parallel-tests.md', 'Tests in parallel'),
  ] },
  { title: 'Capacity', pages: [page('docs/throughput.md', 'Throughput'), page('docs/scaling.md', 'Scaling'), page('docs/advise.md', 'Advice')] },
  { title: 'Operate', pages: [
    page('docs/production.md', 'Production'), page('docs/settings.md', 'Settings'), page('docs/security.md', 'Security'), page('docs/cluster.md', 'Cluster'),
    page('docs/management.md', 'Management calls'), page('docs/console-calls.md', 'Calls of the console'), page('docs/metrics.md', 'Metrics'),
    page('docs/troubleshooting.md', 'Troubleshooting'), page('docs/performance.md', 'Performance'),
  ] },
  { title: 'Understand', pages: [
    page('docs/architecture.md', 'Architecture'), page('docs/storage-format.md', 'Storage format'), page('docs/cluster-internals.md', 'Cluster internals'),
    page('docs/glossary.md', 'Glossary'), page('docs/adr/README.md', 'Decisions'),
  ] },
  { title: 'Trust', pages: [
    page('docs/proof.md', 'Proof'), page('docs/known-defects.md', 'Known defects'), page('docs/testing.md', 'Testing'), page('SECURITY.md', 'Reporting'),
  ] },
  { title: 'Change', pages: [
    page('CONTRIBUTING.md', 'Contributing'), page('docs/style.md', 'Style'), page('docs/releasing.md', 'Releasing'), page('CHANGELOG.md', 'Changelog'),
  ] },
];
