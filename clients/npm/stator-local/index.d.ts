export interface StartOptions {
  /** Port to listen on; 0 (the default) takes a free one. */
  port?: number;
  /** Directory of the store; without it the data are in memory. */
  dataDir?: string;
  /** Further flags of `stator serve`. */
  args?: string[];
  /** Further environment variables of the server. */
  env?: Record<string, string>;
  /** Milliseconds to wait until it accepts requests. */
  readyMillis?: number;
}

export interface LocalServer {
  port: number;
  /** For the `endpoint` of an AWS SDK client. */
  endpoint: string;
  pid: number;
  stop(): Promise<void>;
}

/** Starts a server; it ends with this process at the latest. */
export function start(options?: StartOptions): Promise<LocalServer>;
/** The path of the server's binary for this machine. */
export function binaryPath(): string;

export interface Account {
  /** Its access key. */
  key: string;
  /** The configuration of an AWS SDK client. */
  client: { endpoint: string; region: string; credentials: { accessKeyId: string; secretAccessKey: string } };
  /** Remembers the account's state under a name: tables, items, indexes, streams. */
  snapshot(name?: string): Promise<unknown>;
  /** Returns to a snapshot. */
  restore(name?: string): Promise<unknown>;
}

export interface OwnAccount extends Account {
  /** Takes the account away. */
  drop(): Promise<unknown>;
}

/** An account of its own on a server that was started with --isolate=access-key. */
export function account(endpoint: string, name?: string): OwnAccount;
/** The default account of a server. */
export function defaultAccount(endpoint: string): Account;

export interface Hooks {
  beforeAll(hook: () => unknown): unknown;
  beforeEach(hook: () => unknown): unknown;
  afterAll(hook: () => unknown): unknown;
}

export interface WithStatorOptions {
  /** Of a server with --isolate=access-key; default: STATOR_ENDPOINT, else a server is started. */
  endpoint?: string;
  /** What the access key begins with. */
  name?: string;
  /** Makes once what each test begins with. */
  prepare?(account: OwnAccount & { endpoint: string }): unknown;
}

/** An account for the tests of a file, which returns to what `prepare` made before each of them. */
export function withStator(hooks: Hooks, options?: WithStatorOptions): OwnAccount & { endpoint: string };
