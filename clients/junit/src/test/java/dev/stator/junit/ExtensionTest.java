package dev.stator.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Classes of Fixtures, run against the server of STATOR_BIN. */
class ExtensionTest {
  @BeforeEach
  void clear() {
    Fixtures.clear();
  }

  private static void assertEnded(int servers) throws Exception {
    assertEquals(servers, Fixtures.SERVERS.size());
    for (long pid : Fixtures.SERVERS) ServerTest.awaitEnd(pid);
  }

  private static void assertContains(String text, String part) {
    assertTrue(text.contains(part), () -> "\"" + part + "\" is not in: " + text);
  }

  @Test
  void parallelClassesDoNotSeeEachOtherOnOneServer() throws Exception {
    Run.of(Run.inParallel(false), Fixtures.First.class, Fixtures.Second.class, Fixtures.Third.class, Fixtures.Fourth.class)
        .assertPassed(8);
    assertEquals(4, Fixtures.KEYS.size());
    assertEnded(1);
  }

  @Test
  void parallelTestsHaveAccountsOfTheirOwn() throws Exception {
    Run.of(Run.inParallel(true), Fixtures.Apart.class).assertPassed(4);
    assertEquals(4, Fixtures.KEYS.size());
    assertEnded(1);
  }

  @Test
  void eachTestBeginsWithWhatBeforeAllHasMade() throws Exception {
    Run.of(Map.of(), Fixtures.Filled.class).assertPassed(8);
    assertEquals(1, Fixtures.KEYS.size());
    assertEnded(1);
  }

  @Test
  void twoTestsAtOnceInOneAccountAreRefused() {
    Run run = Run.of(Run.inParallel(true), () -> Fixtures.otherHasFailed.countDown(), Fixtures.Crowded.class);
    assertEquals(1, run.passed.size());
    assertEquals(1, run.failed.size());
    String failed = run.failed.keySet().iterator().next();
    assertContains(run.words(failed), "both use one account");
    assertContains(run.words(failed), "@WithStator(isolation = METHOD)");
    assertContains(run.words(failed), "Crowded.one");
    assertContains(run.words(failed), "Crowded.two");
  }

  @Test
  void twoTestsAtOnceMayShareAnAccountThatDoesNotReturn() {
    Run.of(Run.inParallel(true), Fixtures.Together.class).assertPassed(2);
  }

  @Test
  void parametersHaveTheValuesOfTheAccount() {
    Run run = Run.of(Map.of("stator.flags", " --region=eu-north-1  --log-level=info "), Fixtures.Parameters.class);
    assertEquals(1, run.passed.size());
    assertEquals(Set.of("wrongType(URI)"), run.failed.keySet());
    assertContains(run.words("wrongType(URI)"), "@FromStator(REGION) gives a String");
  }

  @Test
  void anAccountOfATestIsNotThereBeforeIt() {
    assertContains(Run.of(Map.of(), Fixtures.TooEarly.class).words("Fixtures$TooEarly"), "With isolation = METHOD each test has an account");
  }

  @Test
  void aServerOfAClassHasAClockAndFaults() throws Exception {
    Run.of(Map.of(), Fixtures.Own.class).assertPassed(4);
    assertEnded(1);
  }

  @Test
  void aServerThatDoesNotStartIsReportedWithItsWordsInEachClass() {
    Run run = Run.of(Map.of(), Fixtures.Refused.class, Fixtures.RefusedToo.class);
    assertEquals(Set.of("Fixtures$Refused", "Fixtures$RefusedToo"), run.failed.keySet());
    for (String name : run.failed.keySet()) {
      assertContains(run.words(name), "has ended with exit code 109");
      assertContains(run.words(name), "there is no flag --no-such-flag");
    }
  }

  @Test
  void aBinaryThatIsNotThereIsReported() {
    Run run = Run.of(Map.of("stator.binary", "/no/such/binary"), Fixtures.Later.class);
    assertContains(run.words("Fixtures$Later"), "/no/such/binary does not start");
  }

  @Test
  void aKilledServerIsReportedAndTheNextClassHasANewOne() throws Exception {
    Run run = Run.of(Map.of(), Fixtures.Killed.class, Fixtures.Later.class);
    assertEquals(List.of("hasANewServer(StatorAccount)"), run.passed);
    for (String name : List.of("first(StatorServer)", "second()")) {
      assertContains(run.words(name), "was killed by signal 9 while tests used it");
      assertContains(run.words(name), "info serving port=");
    }
    assertEnded(2);
  }

  @Test
  void aNamedServerIsUsedAndLeftRunning() {
    try (StatorServer server = StatorServer.start("--isolate=access-key")) {
      Run.of(Map.of("stator.endpoint", server.endpoint() + "/", "stator.binary", "/no/such/binary"), Fixtures.Filled.class)
          .assertPassed(8);
      assertEquals(Set.of(server.endpoint().toString()), Fixtures.ENDPOINTS);
      assertTrue(Fixtures.SERVERS.isEmpty());
      assertTrue(server.isAlive());
      assertContains(server.manage("GET", "accounts"), "\"count\":0");

      Run run = Run.of(Map.of("stator.endpoint", server.endpoint().toString()), Fixtures.Refused.class);
      assertContains(run.words("Fixtures$Refused"), "has the flags --no-such-flag, and the server at " + server.endpoint());
    }
  }

  @Test
  void aNamedServerWithoutAccountsIsRefused() {
    try (StatorServer server = StatorServer.start()) {
      Run run = Run.of(Map.of("stator.endpoint", server.endpoint().toString()), Fixtures.Later.class);
      assertContains(run.words("Fixtures$Later"), "start the server with --isolate=access-key");
    }
  }

  @Test
  void anEndpointThatIsNoneIsReported() {
    assertContains(Run.of(Map.of("stator.endpoint", "localhost:8000"), Fixtures.Later.class).words("Fixtures$Later"),
        "\"localhost:8000\" is no endpoint");
    StatorServer ended = StatorServer.start();
    ended.close();
    assertFalse(ended.isAlive());
    assertContains(Run.of(Map.of("stator.endpoint", ended.endpoint().toString()), Fixtures.Later.class).words("Fixtures$Later"),
        "No answer from " + ended.endpoint() + " to GET /_stator/accounts");
  }
}
