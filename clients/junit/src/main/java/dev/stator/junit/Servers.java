package dev.stator.junit;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.extension.ExtensionContext;

/** The servers of a run of tests: one for each list of flags. JUnit closes them at its end. */
final class Servers implements ExtensionContext.Store.CloseableResource {
  private final Map<List<String>, StatorServer> started = new HashMap<>();
  private final Map<List<String>, StatorException> failed = new HashMap<>();
  private StatorServer given;

  /** Returns a server whose access keys have accounts: that of the endpoint, else one that is started at the first call. */
  synchronized StatorServer shared(ExtensionContext context, List<String> flags) {
    String endpoint = setting(context, "stator.endpoint", "STATOR_ENDPOINT");
    if (!endpoint.isEmpty()) {
      if (!flags.isEmpty()) {
        throw new StatorException(context.getDisplayName() + " has the flags " + String.join(" ", flags) + ", and the server at "
            + endpoint + " runs already. Leave out the flags, or give the class a server: @WithStator(isolation = SERVER).");
      }
      if (given == null) {
        StatorServer server = StatorServer.at(endpoint);
        server.requireIsolation();
        given = server;
      }
      return given;
    }
    StatorException before = failed.get(flags); // not again for each class
    if (before != null) throw new StatorException(before.getMessage(), before);
    StatorServer server = started.get(flags);
    if (server != null && server.isAlive()) return server;
    List<String> all = new ArrayList<>(flags);
    all.add("--isolate=access-key");
    try {
      server = start(context, all);
    } catch (StatorException error) {
      failed.put(flags, error);
      throw error;
    }
    started.put(flags, server);
    return server;
  }

  /** Starts a server for one class. The caller closes it. */
  static StatorServer start(ExtensionContext context, List<String> flags) {
    List<String> all = new ArrayList<>();
    for (String flag : context.getConfigurationParameter("stator.flags").orElse("").split("\\s+")) {
      if (!flag.isEmpty()) all.add(flag);
    }
    all.addAll(flags);
    return StatorServer.start(Binary.find(context.getConfigurationParameter("stator.binary").orElse(null)), all);
  }

  @Override
  public synchronized void close() {
    started.values().forEach(StatorServer::close);
  }

  // A parameter that is there and empty goes before the environment: it means none.
  private static String setting(ExtensionContext context, String parameter, String variable) {
    Optional<String> given = context.getConfigurationParameter(parameter);
    return given.orElseGet(() -> System.getenv().getOrDefault(variable, "")).strip();
  }
}
