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
