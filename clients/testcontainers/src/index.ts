// A Stator server in a container for tests:
//   const stator = await new StatorContainer().start();
//   const client = new DynamoDBClient(stator.getClientConfig());
import { AbstractStartedContainer, GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';

const kPort = 8000;
const kImage = 'stator:0.1.0';
const kReadyMillis = 60_000;

export interface ClientConfig {
  endpoint: string;
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
}

export class StatorContainer extends GenericContainer {
  private flags: string[] = [];
  private keepsData = false;

  constructor(image: string = kImage) {
    super(image);
    this.withExposedPorts(kPort);
    this.withWaitStrategy(Wait.forHttp('/health/ready', kPort).forStatusCode(200));
    this.withStartupTimeout(kReadyMillis);
  }

  /** Keeps the data in RocksDB below /data and no longer in memory, for a volume or for tests of restarts. */
  withDataDirectory(): this {
    this.keepsData = true;
    return this;
  }

  /** Refuses requests beyond the capacity of tables and partitions, as the cloud does. */
  withThrottling(): this {
    return this.withFlags('--throttling=enforce');
  }

  /** A clock that stands still until a test moves it. */
  withManualClock(): this {
    return this.withFlags('--clock=manual');
  }

  /** Further flags of `stator serve`. */
  withFlags(...flags: string[]): this {
    this.flags.push(...flags);
    return this;
  }

  override async start(): Promise<StartedStatorContainer> {
    this.withCommand(['serve', ...(this.keepsData ? ['--data-dir', '/data/store'] : ['--in-memory']), ...this.flags]);
    return new StartedStatorContainer(await super.start());
  }
}

export class StartedStatorContainer extends AbstractStartedContainer {
  constructor(container: StartedTestContainer) {
    super(container);
  }

  getPort(): number {
    return this.getMappedPort(kPort);
  }

  /** For the `endpoint` of an AWS SDK client. */
  getEndpoint(): string {
    return `http://${this.getHost()}:${this.getPort()}`;
  }

  /** The configuration of a DynamoDBClient of the AWS SDK for JavaScript. */
  getClientConfig(): ClientConfig {
    return {
      endpoint: this.getEndpoint(),
      region: 'us-east-1',
      credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
    };
  }

  /** Deletes all tables. */
  async reset(): Promise<void> {
    await this.manage('reset');
  }

  /** Moves a manual clock on by a duration such as "90s" or "2h", and waits until its work is done. */
  async advanceClock(duration: string): Promise<void> {
    await this.manage('clock', { advance: duration });
  }

  private async manage(call: string, body?: unknown): Promise<void> {
    const reply = await fetch(`${this.getEndpoint()}/_stator/${call}`, {
      method: 'POST',
      headers: { 'X-Stator-Management': 'true', 'Content-Type': 'application/json' },
      body: JSON.stringify(body ?? {}),
    });
    if (!reply.ok) throw new Error(`POST /_stator/${call}: ${reply.status} ${await reply.text()}`);
  }
}
