package dev.stator.junit;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A Stator server: started for tests, in memory, on a free port; or one that another program has started. Safe for use by threads. */
public final class StatorServer implements AutoCloseable {
  private static final Duration READY = Duration.ofSeconds(60);
  private static final Duration CALL = Duration.ofSeconds(60);
  private static final int NAME_LENGTH = 80; // with a UUID below the 128 bytes of an access key id
  private static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(CALL).build();

  private final URI endpoint;
  private final ServerProcess process; // null: another program's
  private volatile String status;

  private StatorServer(URI endpoint, ServerProcess process) {
    this.endpoint = endpoint;
    this.process = process;
  }

  /**
   * Starts the server of {@code STATOR_BIN}, else {@code stator} of the {@code PATH}, and returns when it accepts requests. It ends
   * with this JVM, even if that is killed.
   *
   * @param flags of {@code stator serve}, beside {@code --in-memory} and {@code --port=0}
   * @return the server, to be closed
   * @throws StatorException with the words of a server that does not start
   */
  public static StatorServer start(String... flags) {
    return start(Binary.find(null), List.of(flags));
  }

  /**
   * Likewise, for a binary that is given.
   *
   * @param binary path of the program
   * @param flags of {@code stator serve}, beside {@code --in-memory} and {@code --port=0}
   * @return the server, to be closed
   * @throws StatorException with the words of a server that does not start
   */
  public static StatorServer start(String binary, List<String> flags) {
    return start(binary, flags, READY);
  }

  static StatorServer start(String binary, List<String> flags, Duration ready) {
    List<String> command = new ArrayList<>(List.of(binary, "serve", "--in-memory", "--port=0"));
    command.addAll(flags);
    ServerProcess process = ServerProcess.start(command, ready);
    return new StatorServer(URI.create("http://127.0.0.1:" + process.port()), process);
  }

  /**
   * Returns a server that another program has started, and does not call it.
   *
   * @param endpoint its URL
   * @return the server; to close it does nothing
   */
  public static StatorServer at(String endpoint) {
    URI uri;
    try {
      uri = URI.create(endpoint.strip().replaceAll("/+$", ""));
    } catch (IllegalArgumentException error) {
      throw new StatorException("\"" + endpoint + "\" is no endpoint: " + error.getMessage(), error);
    }
    if (uri.getHost() == null || !("http".equals(uri.getScheme()) || "https".equals(uri.getScheme()))) {
      throw new StatorException("\"" + endpoint + "\" is no endpoint: give one such as http://localhost:8000.");
    }
    return new StatorServer(uri, null);
  }

  /**
   * Returns the URL of the server.
   *
   * @return such as {@code http://127.0.0.1:41767}
   */
  public URI endpoint() {
    return endpoint;
  }

  /**
   * Returns the region of the server. Asks it the first time.
   *
   * @return such as {@code us-east-1}
   */
  public String region() {
    return ofStatus("region");
  }

  /**
   * Returns the process of the server.
   *
   * @return its id; empty if another program has started it
   */
  public OptionalLong pid() {
    return process == null ? OptionalLong.empty() : OptionalLong.of(process.pid());
  }

  /**
   * Makes an account, of a server with {@code --isolate=access-key}. The server hears of it by its first request.
   *
   * @param name the access key begins with it
   * @return an account that no other test has
   */
  public StatorAccount account(String name) {
    String plain = name.replaceAll("[^A-Za-z0-9_.-]", "_");
    return new StatorAccount(this, plain.substring(0, Math.min(plain.length(), NAME_LENGTH)) + "-" + UUID.randomUUID(), false);
  }

  /**
   * Returns the default account, for tests that have a server to themselves. Asks the server the first time.
   *
   * @return the account that calls without an account's name mean
   */
  public StatorAccount defaultAccount() {
    return new StatorAccount(this, ofStatus("account"), true);
  }

  /**
   * Moves the clock of a server with {@code --clock=manual}, for all its accounts, and returns when the work due by then is done.
   *
   * @param duration not negative
   */
  public void advanceClock(Duration duration) {
    manage("POST", "clock", "{\"advance\": " + duration.getSeconds() + String.format(Locale.ROOT, ".%09d}", duration.getNano()));
  }

  /** Drops all tables, of all accounts, and loads the data of {@code --init} again. */
  public void reset() {
    manage("POST", "reset");
  }

  /**
   * Sends a management call without a body.
   *
   * @param method such as GET
   * @param call what follows {@code /_stator/} in its URL
   * @return the answer, JSON
   * @throws StatorException if the server refuses the call, does not answer, or has ended
   */
  public String manage(String method, String call) {
    return manage(method, call, "");
  }

  /**
   * Sends a management call.
   *
   * @param method such as PUT
   * @param call what follows {@code /_stator/} in its URL, such as {@code faults/orders}
   * @param body JSON
   * @return the answer, JSON
   * @throws StatorException if the server refuses the call, does not answer, or has ended
   */
  public String manage(String method, String call, String body) {
    return manage(method, call, body, false);
  }

  String manage(String method, String call, String body, boolean mayBeMissing) {
    HttpRequest request = HttpRequest.newBuilder(URI.create(endpoint + "/_stator/" + call)).timeout(CALL)
        .header("X-Stator-Management", "true").header("Content-Type", "application/json")
        .method(method, body.isEmpty() ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body)).build();
    HttpResponse<String> reply;
    try {
      reply = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
    } catch (IOException error) {
      if (process != null) process.requireAlive(true, error);
      throw new StatorException("No answer from " + endpoint + " to " + method + " /_stator/" + call + ": " + error, error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new StatorException(method + " /_stator/" + call + " was interrupted.", error);
    }
    if (reply.statusCode() / 100 == 2 || (mayBeMissing && reply.statusCode() == 404)) return reply.body();
    throw new StatorException(method + " /_stator/" + call + ": " + reply.statusCode() + " " + reply.body());
  }

  /** Throws the server's last words if it was started here and has ended. */
  void requireAlive() {
    if (process != null) process.requireAlive(false, null);
  }

  boolean isAlive() {
    return process == null || process.isAlive();
  }

  /** Throws if the access keys of this server have no accounts of their own. */
  void requireIsolation() {
    try {
      manage("GET", "accounts?limit=1");
    } catch (StatorException error) {
      throw new StatorException("The server at " + endpoint + " gives access keys no accounts of their own: " + error.getMessage(), error);
    }
  }

  /** Ends the server, if it was started here. Requests that have begun are answered first. */
  @Override
  public void close() {
    if (process != null) process.stop();
  }

  @Override
  public String toString() {
    return endpoint + (process == null ? "" : ", process " + process.pid());
  }

  private String ofStatus(String member) {
    if (status == null) status = manage("GET", "status");
    Matcher found = Pattern.compile("\"" + member + "\":\\s*\"([^\"]*)\"").matcher(status);
    if (!found.find()) throw new StatorException("The server at " + endpoint + " does not tell its " + member + ": " + status);
    return found.group(1);
  }
}
