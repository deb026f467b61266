package dev.stator.junit;

import static dev.stator.junit.FromStator.Value.ACCESS_KEY;
import static dev.stator.junit.FromStator.Value.ENDPOINT;
import static dev.stator.junit.FromStator.Value.REGION;
import static dev.stator.junit.FromStator.Value.SECRET_KEY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.ExtendWith;

/** The classes that the tests of the extension run, as a user writes them. */
final class Fixtures {
  static final long PATIENCE = 120; // seconds that a test waits for what happens at once on a quiet machine
  static final int AT_ONCE = 4;
  static final Set<String> KEYS = ConcurrentHashMap.newKeySet();
  static final Set<Long> SERVERS = ConcurrentHashMap.newKeySet();
  static final Set<String> ENDPOINTS = ConcurrentHashMap.newKeySet();
  static volatile CyclicBarrier allAreIn;
  static volatile CountDownLatch otherHasFailed;

  private Fixtures() {}

  static void clear() {
    KEYS.clear();
    SERVERS.clear();
    ENDPOINTS.clear();
    allAreIn = new CyclicBarrier(AT_ONCE);
    otherHasFailed = new CountDownLatch(1);
  }

  private static void note(StatorAccount account) {
    KEYS.add(account.accessKey());
    account.server().pid().ifPresent(SERVERS::add);
    ENDPOINTS.add(account.endpoint().toString());
  }

  /** A table of one name in classes that are all at the same place at the same time. */
  @WithStator
  abstract static class Same {
    @BeforeAll
    static void fill(StatorAccount account) throws Exception {
      note(account);
      assertEquals("[]", Wire.tables(account));
      Wire.createTable(account, "orders");
    }

    @Test
    void alone(StatorAccount account) throws Exception {
      Wire.put(account, "orders", getClass().getName());
      allAreIn.await(PATIENCE, TimeUnit.SECONDS);
      assertEquals(1, Wire.count(account, "orders"));
      Wire.createTable(account, "more");
      allAreIn.await(PATIENCE, TimeUnit.SECONDS);
    }

    @Test
    void returned(StatorAccount account) throws Exception {
      assertEquals("[\"orders\"]", Wire.tables(account));
      assertEquals(0, Wire.count(account, "orders"));
    }
  }

  static final class First extends Same {}

  static final class Second extends Same {}

  static final class Third extends Same {}

  static final class Fourth extends Same {}

  /** Each test begins with what @BeforeAll has made, also in nested classes. */
  @WithStator
  static class Filled {
    @BeforeAll
    static void fill(StatorAccount account) throws Exception {
      note(account);
      Wire.createTable(account, "orders");
      Wire.put(account, "orders", "first");
    }

    @RepeatedTest(3)
    void beginsWithOneItem(StatorAccount account) throws Exception {
      assertEquals(1, Wire.count(account, "orders"));
      assertEquals("[\"orders\"]", Wire.tables(account));
      Wire.put(account, "orders", "another");
      Wire.createTable(account, "more");
    }

    @Test
    void dropsTheTable(StatorAccount account) throws Exception {
      Wire.ok(account, "DeleteTable", "{\"TableName\": \"orders\"}");
    }

    @Test
    void hasSnapshotsOfItsOwn(StatorAccount account) throws Exception {
      account.snapshot("one & a half");
      Wire.put(account, "orders", "another");
      account.snapshot();
      account.restore("one & a half");
      assertEquals(1, Wire.count(account, "orders"));
      account.restore();
      assertEquals(2, Wire.count(account, "orders"));
    }

    @Nested
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    class Further {
      private final StatorAccount account;

      Further(StatorAccount account) {
        this.account = account;
      }

      @BeforeAll
      void fillFurther() throws Exception {
        note(account);
        assertEquals(1, Wire.count(account, "orders"));
        Wire.put(account, "orders", "second");
      }

      @RepeatedTest(2)
      void beginsWithTwoItems() throws Exception {
        assertEquals(2, Wire.count(account, "orders"));
        Wire.put(account, "orders", "third");
      }
    }

    @Nested
    class Other {
      @Test
      void beginsWithOneItem(StatorAccount account) throws Exception {
        note(account);
        assertEquals(1, Wire.count(account, "orders"));
      }
    }
  }

  /** Tests of one class that are all at the same place at the same time, each with an account. */
  @WithStator(isolation = WithStator.Isolation.METHOD)
  static class Apart {
    @BeforeEach
    void fill(StatorAccount account) throws Exception {
      note(account);
      assertEquals("[]", Wire.tables(account));
      Wire.createTable(account, "orders");
    }

    private void alone(StatorAccount account) throws Exception {
      Wire.put(account, "orders", account.accessKey());
      allAreIn.await(PATIENCE, TimeUnit.SECONDS);
      assertEquals(1, Wire.count(account, "orders"));
      allAreIn.await(PATIENCE, TimeUnit.SECONDS);
    }

    @Test
    void one(StatorAccount account) throws Exception {
      alone(account);
    }

    @Test
    void two(StatorAccount account) throws Exception {
      alone(account);
    }

    @Test
    void three(StatorAccount account) throws Exception {
      alone(account);
    }

    @Test
    void four(StatorAccount account) throws Exception {
      alone(account);
    }
  }

  @WithStator(isolation = WithStator.Isolation.METHOD)
  static class TooEarly {
    @BeforeAll
    static void fill(StatorAccount account) {}

    @Test
    void test() {}
  }

  /** Two tests at once in an account that returns. */
  @WithStator
  static class Crowded {
    private void stay() throws Exception {
      assertTrue(otherHasFailed.await(PATIENCE, TimeUnit.SECONDS));
    }

    @Test
    void one() throws Exception {
      stay();
    }

    @Test
    void two() throws Exception {
      stay();
    }
  }

  /** Two tests at once in an account that is left as it is. */
  @WithStator(restore = false)
  static class Together {
    private static final CyclicBarrier BOTH_ARE_IN = new CyclicBarrier(2);

    private void meet(StatorAccount account, String table) throws Exception {
      Wire.createTable(account, table);
      BOTH_ARE_IN.await(PATIENCE, TimeUnit.SECONDS);
      assertEquals("[\"one\",\"two\"]", Wire.tables(account));
    }

    @Test
    void one(StatorAccount account) throws Exception {
      meet(account, "one");
    }

    @Test
    void two(StatorAccount account) throws Exception {
      meet(account, "two");
    }
  }

  /** All values, in a constructor and in a test. */
  @ExtendWith(StatorExtension.class)
  static class Parameters {
    private final StatorAccount account;
    private final StatorServer server;

    Parameters(StatorAccount account, StatorServer server) {
      this.account = account;
      this.server = server;
    }

    @Test
    void values(@FromStator(ENDPOINT) String endpoint, @FromStator(ENDPOINT) URI uri, @FromStator(ACCESS_KEY) String key,
        @FromStator(SECRET_KEY) String secret, @FromStator(REGION) String region) throws Exception {
      assertEquals(server.endpoint().toString(), endpoint);
      assertEquals(account.endpoint(), uri);
      assertEquals(account.accessKey(), key);
      assertTrue(key.startsWith("Parameters-"), key);
      assertFalse(secret.isEmpty());
      assertEquals("eu-north-1", region);
      assertEquals(200, Wire.call(uri, key, "ListTables", "{}").statusCode());
    }

    @Test
    void wrongType(@FromStator(REGION) URI region) {}
  }

  /** A server of the class, whose clock and faults disturb no other. */
  @WithStator(isolation = WithStator.Isolation.SERVER, flags = "--clock=manual")
  static class Own {
    @BeforeAll
    static void fill(StatorAccount account) throws Exception {
      note(account);
      Wire.createTable(account, "orders");
    }

    @RepeatedTest(2)
    void clock(StatorServer server, StatorAccount account) throws Exception {
      double before = now(server);
      server.advanceClock(Duration.ofMillis(3_600_500));
      assertEquals(before + 3600.5, now(server), 0.01);
      assertEquals(0, Wire.count(account, "orders"));
      Wire.put(account, "orders", "first");
    }

    @Test
    void faults(StatorServer server, StatorAccount account) throws Exception {
      server.manage("PUT", "faults/orders", "{\"faults\": [{\"fault\": \"throttle\", \"operations\": [\"PutItem\"], \"count\": 1}]}");
      String item = "{\"TableName\": \"orders\", \"Item\": {\"pk\": {\"S\": \"a\"}}}";
      HttpResponse<String> refused = Wire.call(account.endpoint(), account.accessKey(), "PutItem", item);
      assertEquals(400, refused.statusCode());
      assertTrue(refused.body().contains("Throttling"), refused.body());
      Wire.ok(account, "PutItem", item);
    }

    @Test
    void reset(StatorServer server, StatorAccount account) throws Exception {
      server.reset();
      assertEquals("[]", Wire.tables(account));
    }

    private static double now(StatorServer server) {
      return Double.parseDouble(server.manage("GET", "clock").replaceAll(".*\"epochSeconds\":([0-9.]+).*", "$1"));
    }
  }

  @WithStator(flags = "--no-such-flag")
  static class Refused {
    @Test
    void test() {}
  }

  @WithStator(flags = "--no-such-flag")
  static class RefusedToo {
    @Test
    void test() {}
  }

  /** Its server is killed under the first of two tests. */
  @WithStator
  @TestMethodOrder(MethodOrderer.MethodName.class) // such a class runs its tests one after the other
  static class Killed {
    @Test
    void first(StatorServer server) throws Exception {
      long pid = server.pid().orElseThrow();
      SERVERS.add(pid);
      ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
      ServerTest.awaitEnd(pid);
    }

    @Test
    void second() {}
  }

  /** Runs behind Killed. */
  @WithStator
  static class Later {
    @Test
    void hasANewServer(StatorAccount account) throws Exception {
      assertNotEquals(SERVERS.iterator().next(), account.server().pid().orElseThrow());
      note(account);
      Wire.createTable(account, "orders");
    }
  }
}
