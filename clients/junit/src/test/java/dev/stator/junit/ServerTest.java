package dev.stator.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Servers without the extension. */
class ServerTest {
  private static final String BINARY = Binary.find(null);

  /** Waits for the end of a process, also of one that is not a child of this JVM. */
  static void awaitEnd(long pid) throws Exception {
    long end = System.nanoTime() + Duration.ofSeconds(Fixtures.PATIENCE).toNanos();
    while (ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false)) {
      assertTrue(System.nanoTime() < end, () -> "process " + pid + " runs still");
      Thread.sleep(20);
    }
  }

  @Test
  void closeEndsTheServer() throws Exception {
    StatorServer server = StatorServer.start();
    server.close();
    awaitEnd(server.pid().orElseThrow());
    server.close();
    assertTrue(assertThrows(StatorException.class, server::reset).getMessage().contains("was closed before"));
  }

  @Test
  void aRefusedCallIsReportedWithTheAnswer() {
    try (StatorServer server = StatorServer.start()) {
      String clock = assertThrows(StatorException.class, () -> server.advanceClock(Duration.ofHours(1))).getMessage();
      assertTrue(clock.matches("POST /_stator/clock: 409 .*--clock=manual.*"), clock);
      StatorAccount account = server.defaultAccount();
      assertEquals("000000000000", account.accessKey());
      String snapshot = assertThrows(StatorException.class, () -> account.restore("with nobody")).getMessage();
      assertTrue(snapshot.matches(".*404 .*There is no snapshot with nobody.*"), snapshot);
      assertThrows(StatorException.class, account::drop);
    }
  }

  @Test
  void anAccountMayHaveAnyNameAndIsDroppedOnce() throws Exception {
    try (StatorServer server = StatorServer.start("--isolate=access-key")) {
      StatorAccount account = server.account("§ 1/2 of a test ".repeat(20));
      Wire.createTable(account, "orders");
      account.snapshot();
      account.drop();
      account.drop();
      assertEquals("[]", Wire.tables(account));
    }
  }

  @Test
  void aServerThatIsNotReadyInTimeIsEnded(@TempDir Path directory) throws Exception {
    Path binary = directory.resolve("stator");
    Files.writeString(binary, "#!/bin/sh\necho $$ > \"$0.pid\"\necho opening the store\nexec sleep 600\n");
    Files.setPosixFilePermissions(binary, PosixFilePermissions.fromString("rwx------"));
    Path noted = directory.resolve("stator.pid");
    // It has written its id and its words before the time is up, unless the machine is busy: then there is more time.
    for (int millis = 300;; millis *= 4) {
      Duration ready = Duration.ofMillis(millis);
      String words = assertThrows(StatorException.class, () -> StatorServer.start(binary.toString(), List.of(), ready)).getMessage();
      assertTrue(words.contains("was not ready within " + millis + " ms"), words);
      if (!words.contains("opening the store") && millis < 60_000) continue;
      assertTrue(words.contains("opening the store"), words);
      awaitEnd(Long.parseLong(Files.readString(noted).strip()));
      return;
    }
  }

  @Test
  void theBinaryIsTheGivenOneElseThatOfTheEnvironmentElseOfThePath(@TempDir Path directory) throws Exception {
    Path binary = directory.resolve("stator");
    Files.writeString(binary, "");
    Map<String, String> path = Map.of("PATH", "/no/such/directory" + File.pathSeparator + directory);
    assertTrue(assertThrows(StatorException.class, () -> Binary.find(null, path)).getMessage().contains("STATOR_BIN"));
    Files.setPosixFilePermissions(binary, PosixFilePermissions.fromString("rwx------"));
    assertEquals(binary.toString(), Binary.find(" ", path));
    assertEquals("/b", Binary.find(null, Map.of("STATOR_BIN", "/b", "PATH", directory.toString())));
    assertEquals("/a", Binary.find("/a", Map.of("STATOR_BIN", "/b")));
  }

  /** Another JVM starts a server and ends: by its end, by exit(), or as it is told by "wait". */
  static final class Holder {
    public static void main(String[] arguments) throws Exception {
      System.out.println(StatorServer.start().pid().orElseThrow());
      System.out.flush();
      if (arguments[0].equals("exit")) System.exit(3);
      if (arguments[0].equals("wait")) Thread.sleep(Duration.ofSeconds(10 * Fixtures.PATIENCE).toMillis());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"end", "exit", "wait"})
  void theServerEndsWithTheJvm(String how) throws Exception {
    Process jvm = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1", "-cp",
        System.getProperty("java.class.path"), Holder.class.getName(), how).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    try (BufferedReader output = jvm.inputReader()) {
      long pid = Long.parseLong(output.readLine());
      if (how.equals("wait")) {
        assertTrue(ProcessHandle.of(pid).isPresent());
        jvm.destroyForcibly(); // kill -9
      }
      jvm.waitFor();
      awaitEnd(pid);
    } finally {
      jvm.destroyForcibly();
    }
    assertFalse(BINARY.isEmpty());
  }
}
