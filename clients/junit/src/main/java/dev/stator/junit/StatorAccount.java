package dev.stator.junit;

import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;

/** An account with tables of its own, on a server with {@code --isolate=access-key}; or the default account of a server. */
public final class StatorAccount {
  private static final String DEFAULT_SNAPSHOT = "default";

  private final StatorServer server;
  private final String accessKey;
  private final String path; // of its management calls, with a slash at the end; empty: the default account

  StatorAccount(StatorServer server, String accessKey, boolean isDefault) {
    this.server = server;
    this.accessKey = accessKey;
    this.path = isDefault ? "" : "accounts/" + encode(accessKey) + "/";
  }

  /**
   * Returns the server.
   *
   * @return the server that has this account
   */
  public StatorServer server() {
    return server;
  }

  /**
   * Returns the URL of the server.
   *
   * @return such as {@code http://127.0.0.1:41767}
   */
  public URI endpoint() {
    return server.endpoint();
  }

  /**
   * Returns the access key id, which names the account.
   *
   * @return for the credentials of a client
   */
  public String accessKey() {
    return accessKey;
  }

  /**
   * Returns the secret access key, which is not verified.
   *
   * @return for the credentials of a client
   */
  public String secretKey() {
    return "any";
  }

  /**
   * Returns the region of the server.
   *
   * @return such as {@code us-east-1}
   */
  public String region() {
    return server.region();
  }

  /** Remembers the account's tables, items, indexes and streams, in the place of an earlier snapshot without a name. */
  public void snapshot() {
    snapshot(DEFAULT_SNAPSHOT);
  }

  /**
   * Remembers the account's tables, items, indexes and streams.
   *
   * @param name an earlier snapshot of this name is replaced
   */
  public void snapshot(String name) {
    server.manage("POST", path + "snapshot?name=" + encode(name));
  }

  /** Returns to the snapshot without a name. */
  public void restore() {
    restore(DEFAULT_SNAPSHOT);
  }

  /**
   * Returns to a snapshot.
   *
   * @param name of the snapshot
   */
  public void restore(String name) {
    server.manage("POST", path + "restore?name=" + encode(name));
  }

  /** Drops the account with all that it has; nothing, if it was not used. The default account cannot be dropped. */
  public void drop() {
    if (path.isEmpty()) throw new StatorException("The default account cannot be dropped; reset() of the server drops its tables.");
    server.manage("DELETE", path.substring(0, path.length() - 1), "", true);
  }

  @Override
  public String toString() {
    return accessKey + " at " + endpoint();
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }
}
