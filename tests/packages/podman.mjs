// A podman of a test's own: images, containers and settings in a directory of its own, and its service for clients of Docker's
// API. The images of a release are loaded into it.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const kServiceMillis = 60000;

// runc, without the resource limits that podman asks for: raising them needs a capability that root lacks in some containers.
const kRuntime = `#!/bin/bash
unlimit() {
  python3 -c 'import json, sys
config = json.load(open(sys.argv[1]))
process = config.get("process", config)
process.pop("rlimits", None)
process.pop("oomScoreAdj", None)
json.dump(config, open(sys.argv[1], "w"))' "$1"
}
for word in "$@"; do
  case $previous in
    --bundle) unlimit "$word/config.json" ;;
    --process) unlimit "$word" ;;
  esac
  previous=$word
done
exec runc "$@"
`;

export class Podman {
  constructor() {
    this.directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-podman-'));
    const file = (name, text, mode = 0o644) => {
      fs.writeFileSync(path.join(this.directory, name), text, { mode });
      return path.join(this.directory, name);
    };
    const runtime = file('runtime', kRuntime, 0o755);
    const containers = file('containers.conf',
      `[engine]\nruntime = "stator"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n[engine.runtimes]\nstator = ["${runtime}"]\n[network]\nnetwork_backend = "netavark"\n`);
    const storage = file('storage.conf', `[storage]\ndriver = "vfs"\ngraphroot = "${this.directory}/storage"\nrunroot = "${this.directory}/run"\n`);
    this.socket = path.join(this.directory, 'podman.sock');
    this.env = {
      ...process.env, CONTAINERS_CONF: containers, CONTAINERS_STORAGE_CONF: storage,
      DOCKER_HOST: `unix://${this.socket}`, TESTCONTAINERS_RYUK_DISABLED: 'true',
    };
  }

  run(...args) {
    return execFileSync('podman', args, { env: this.env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], timeout: 120000 }).trim();
  }

  // Serves Docker's API at `env.DOCKER_HOST`.
  async serve() {
    this.service = spawn('podman', ['system', 'service', '--time=0', this.env.DOCKER_HOST], { env: this.env, stdio: 'ignore' });
    const end = Date.now() + kServiceMillis;
    while (!fs.existsSync(this.socket)) {
      if (Date.now() > end) throw new Error('the service of podman does not start');
      await delay(20);
    }
  }

  // Removes all containers, images and files.
  remove() {
    try {
      this.run('rm', '--force', '--all', '--volumes');
      this.run('volume', 'prune', '--force');
    } finally {
      this.service?.kill('SIGKILL');
      fs.rmSync(this.directory, { recursive: true, force: true });
    }
  }
}
