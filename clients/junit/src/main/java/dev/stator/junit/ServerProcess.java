package dev.stator.junit;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The process of a server. It ends by stop(), with this JVM by a shutdown hook, and, if the JVM is killed, by a shell that waits for the
 * end of its input.
 */
final class ServerProcess {
  private static final Duration STOP = Duration.ofSeconds(15);
  private static final Duration NOTICE = Duration.ofSeconds(5); // from a broken connection to the notice that the process has ended
  private static final int LINES = 200;
  private static final int KILLED = 128; // exit codes above it are signals
  private static final Pattern SERVING = Pattern.compile(" serving port=(\\d+)");

  private final List<String> command;
  private final Process process;
  private final Thread hook;
  private final Deque<String> output = new ArrayDeque<>(); // guarded by itself
  private final CompletableFuture<Integer> served = new CompletableFuture<>(); // null: its output has ended before
  private volatile boolean isStopping;
  private int port;

  private ServerProcess(List<String> command, Process process) {
    this.command = command;
    this.process = process;
    this.hook = new Thread(process::destroyForcibly, "stator-end");
  }

  /** Returns once the server accepts requests. Throws StatorException with its words if it does not within `ready`. */
  static ServerProcess start(List<String> command, Duration ready) {
    Process process;
    try {
      process = new ProcessBuilder(command).redirectErrorStream(true).redirectInput(new File("/dev/null")).start();
    } catch (IOException error) {
      throw new StatorException(command.get(0) + " does not start: " + error.getMessage(), error);
    }
    ServerProcess server = new ServerProcess(command, process);
    server.watch();
    server.awaitPort(ready);
    return server;
  }

  int port() {
    return port;
  }

  long pid() {
    return process.pid();
  }

  boolean isAlive() {
    // The system tells of an end a moment before `process` does, which has the exit code.
    if (!process.toHandle().isAlive()) await(STOP);
    return process.isAlive();
  }

  /** Throws the last words of a process that has ended without stop(). `isBroken`: its connection is, so it may end just now. */
  void requireAlive(boolean isBroken, Throwable cause) {
    if (isBroken) await(NOTICE);
    if (isAlive()) return;
    String how = isStopping ? "was closed before." : ended() + " while tests used it. Its last words:\n" + words();
    throw new StatorException("The server, process " + process.pid() + ", " + how, cause);
  }

  void stop() {
    forget();
    process.destroy();
    if (!await(STOP)) kill();
  }

  private void watch() {
    Runtime.getRuntime().addShutdownHook(hook);
    Thread reader = new Thread(this::read, "stator-output");
    reader.setDaemon(true);
    reader.start();
    try {
      String wait = "read line; kill -9 \"$1\"";
      Process watch = new ProcessBuilder("/bin/sh", "-c", wait, "stator-watch", String.valueOf(process.pid()))
          .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD).start();
      process.onExit().thenRun(watch::destroyForcibly); // before another process can have the id
    } catch (IOException error) {
      // Without a shell the server outlives a JVM that is killed, and only that.
    }
  }

  private void read() {
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        synchronized (output) {
          if (output.size() == LINES) output.removeFirst();
          output.addLast(line);
        }
        Matcher found = SERVING.matcher(line);
        if (found.find()) served.complete(Integer.valueOf(found.group(1)));
      }
    } catch (IOException | UncheckedIOException error) {
      // The process was killed by this JVM.
    }
    served.complete(null);
  }

  private void awaitPort(Duration ready) {
    String failure;
    try {
      Integer answer = served.get(ready.toMillis(), TimeUnit.MILLISECONDS);
      if (answer != null) {
        port = answer;
        return;
      }
      await(STOP);
      failure = process.isAlive() ? "has closed its output" : ended();
    } catch (TimeoutException error) {
      failure = "was not ready within " + ready.toMillis() + " ms";
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      failure = "was interrupted at its start";
    } catch (ExecutionException error) {
      failure = error.toString();
    }
    forget();
    kill();
    throw new StatorException(String.join(" ", command) + " " + failure + ":\n" + words());
  }

  private void forget() {
    isStopping = true;
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException error) {
      // The JVM is ending, and the hook runs.
    }
  }

  private void kill() {
    process.destroyForcibly();
    await(STOP);
  }

  private boolean await(Duration duration) {
    try {
      return process.waitFor(duration.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private String ended() {
    int code = process.exitValue();
    return code > KILLED ? "was killed by signal " + (code - KILLED) : "has ended with exit code " + code;
  }

  private String words() {
    synchronized (output) {
      return String.join("\n", output);
    }
  }
}
